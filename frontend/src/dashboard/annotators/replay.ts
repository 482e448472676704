/** An answer played back: the groups at any moment, from its trace (docs/annotator-api.md). */

export type TraceEvent = [number, string, ...number[]];

const LEFT = -1;

/** Group of each image (by index in the grid) at a time in milliseconds. */
export function groupsAt(
  trace: readonly TraceEvent[],
  count: number,
  milliseconds: number,
): number[] {
  let groups: number[] = Array.from({ length: count }, () => LEFT);
  const past: number[][] = [];
  const future: number[][] = [];
  const change = (next: number[]): void => {
    past.push(groups);
    future.length = 0;
    groups = next;
  };
  for (const [at, what, ...rest] of trace) {
    if (at > milliseconds) break;
    if (what === 'p') {
      const [group = LEFT, ...images] = rest;
      change(groups.map((old, k) => (images.includes(k) ? group : old)));
    } else if (what === 'c') change(groups.map(() => LEFT));
    else if (what === 's') change(rest);
    else if (what === 'u') step(past, future);
    else if (what === 'r') step(future, past);
  }
  return groups;

  function step(from: number[][], to: number[][]): void {
    const next = from.pop();
    if (next === undefined) return;
    to.push(groups);
    groups = next;
  }
}

export function duration(trace: readonly TraceEvent[], elapsed: number | null): number {
  return Math.max(elapsed ?? 0, trace.at(-1)?.[0] ?? 0);
}
