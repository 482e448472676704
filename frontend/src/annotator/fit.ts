/** Sizes of images in a space that they should fill but not overflow. */

export interface Fit {
  readonly columns: number;
  /** Edge of one image, in pixels. */
  readonly size: number;
}

/** The columns in which `count` squares come out largest in a box (pixels, with gaps between). */
export function fit(
  width: number,
  height: number,
  count: number,
  gap: number,
  largest: number,
): Fit {
  let best: Fit = { columns: 1, size: 0 };
  for (let columns = 1; columns <= Math.max(1, count); columns++) {
    const rows = Math.ceil(count / columns);
    const size = squares(columns, rows, width, height, gap, largest);
    // Of equal sizes, more columns: the rows fill up.
    if (size >= best.size) best = { columns, size };
  }
  return best;
}

/** The edge of squares in so many columns and rows. */
export function squares(
  columns: number,
  rows: number,
  width: number,
  height: number,
  gap: number,
  largest: number,
): number {
  const wide = (width - gap * (columns - 1)) / columns;
  const high = (height - gap * (rows - 1)) / rows;
  return Math.floor(Math.min(wide, high, largest));
}
