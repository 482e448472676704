/** Pictures that would lie on each other. */

/**
 * Which squares, in their order, overlap no earlier one by more than `overlap` of their side.
 * `xs`, `ys`: their middles; `side`: of all of them.
 */
export function withoutPiles(
  xs: readonly number[],
  ys: readonly number[],
  side: number,
  overlap: number,
): number[] {
  const least = side * (1 - overlap);
  const cells = new Map<number, number[]>();
  const kept: number[] = [];
  xs.forEach((x, k) => {
    const y = ys[k]!;
    const [column, row] = [Math.floor(x / least), Math.floor(y / least)];
    for (let cell = 0; cell < 9; cell++) {
      const key = keyOf(column + (cell % 3) - 1, row + Math.floor(cell / 3) - 1);
      for (const other of cells.get(key) ?? []) {
        if (Math.abs(xs[other]! - x) < least && Math.abs(ys[other]! - y) < least) return;
      }
    }
    const here = cells.get(keyOf(column, row));
    if (here) here.push(k);
    else cells.set(keyOf(column, row), [k]);
    kept.push(k);
  });
  return kept;
}

function keyOf(column: number, row: number): number {
  return row * 65_536 + column;
}
