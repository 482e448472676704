/** Which images are chosen, to be put somewhere together. Pure: each returns a new set. */

export type Selection = ReadonlySet<number>;

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export function toggled(selection: Selection, image: number): Selection {
  const next = new Set(selection);
  if (!next.delete(image)) next.add(image);
  return next;
}

/** All images from the anchor to the target in reading order, added to the selection. */
export function extended(
  selection: Selection,
  images: readonly number[],
  anchor: number | null,
  target: number,
): Selection {
  const from = anchor === null ? -1 : images.indexOf(anchor);
  const to = images.indexOf(target);
  if (from < 0) return new Set([...selection, target]);
  return new Set([...selection, ...images.slice(Math.min(from, to), Math.max(from, to) + 1)]);
}

/** The box between two corners, whichever way it was drawn. */
export function boxBetween(x0: number, y0: number, x1: number, y1: number): Box {
  return {
    left: Math.min(x0, x1),
    top: Math.min(y0, y1),
    right: Math.max(x0, x1),
    bottom: Math.max(y0, y1),
  };
}

export function touches(box: Box, other: Box): boolean {
  return (
    box.left < other.right &&
    other.left < box.right &&
    box.top < other.bottom &&
    other.top < box.bottom
  );
}
