/** Which rows of a long list lie in view. */

export interface Rows {
  first: number;
  /** One behind the last. */
  end: number;
}

/**
 * top: distance of the list's upper edge from the view's, negative once scrolled past.
 * Some rows around those in view are drawn too, so that scrolling shows no gaps.
 */
export function rowsInView(
  top: number,
  viewHeight: number,
  rowHeight: number,
  nRows: number,
  around = 4,
): Rows {
  const first = Math.floor(-top / rowHeight) - around;
  const end = Math.ceil((viewHeight - top) / rowHeight) + around;
  const clamped = Math.min(Math.max(first, 0), nRows);
  return { first: clamped, end: Math.min(Math.max(end, clamped), nRows) };
}

/** Columns of at least `least` pixels that fit into a width, with gaps between them. */
export function columnsIn(width: number, least: number, gap: number): number {
  return Math.max(1, Math.floor((width + gap) / (least + gap)));
}
