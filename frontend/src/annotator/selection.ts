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

/** The middle of a tile: a stroke that passes its edge, between two others, does not mean it. */
export function inner({ left, top, right, bottom }: Box): Box {
  const [x, y] = [(right - left) / 5, (bottom - top) / 5];
  return { left: left + x, top: top + y, right: right - x, bottom: bottom - y };
}

/** How far along a line it enters the box, from 0 at its start to 1 at its end; null: nowhere. */
export function entry(box: Box, x0: number, y0: number, x1: number, y1: number): number | null {
  // On each axis the line is between the box's two edges for a part of its way (Liang and Barsky).
  const [a, b] = [(box.left - x0) / (x1 - x0), (box.right - x0) / (x1 - x0)];
  const [c, d] = [(box.top - y0) / (y1 - y0), (box.bottom - y0) / (y1 - y0)];
  const enters = Math.max(0, Math.min(a, b), Math.min(c, d));
  return enters <= Math.min(1, Math.max(a, b), Math.max(c, d)) ? enters : null;
}
