/** Freehand lines around points. */
import type { Box, Point } from './view';

/** Even–odd rule: a place inside a closed line, crossings of the line with itself included. */
export function isInside(line: readonly Point[], x: number, y: number): boolean {
  let inside = false;
  for (let k = 0, before = line.length - 1; k < line.length; before = k++) {
    const [a, b] = [line[k]!, line[before]!];
    if (a.y > y !== b.y > y && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) inside = !inside;
  }
  return inside;
}

/** The box around x, y pairs; a box of nothing in the middle of the world for none. */
export function boxOf(places: Float32Array): Box {
  if (places.length === 0) return { left: 0.5, top: 0.5, right: 0.5, bottom: 0.5 };
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (let k = 0; k < places.length; k += 2) {
    const [x, y] = [places[k]!, places[k + 1]!];
    if (x < box.left) box.left = x;
    if (x > box.right) box.right = x;
    if (y < box.top) box.top = y;
    if (y > box.bottom) box.bottom = y;
  }
  return box;
}

/** The line with one more place, unless that is too near to the last to matter. */
export function extended(line: readonly Point[], at: Point, least = 3): Point[] {
  const last = line.at(-1);
  if (last && Math.hypot(at.x - last.x, at.y - last.y) < least) return line as Point[];
  return [...line, at];
}

/** At most `most` of the images, those first whose pictures are seen from furthest away: they are
 * spread over the selection as its images are. */
export function wellSpread(images: readonly number[], levels: Uint8Array, most: number): number[] {
  if (images.length <= most) return [...images];
  const ranked = [...images].sort((a, b) => levels[a]! - levels[b]! || a - b);
  return ranked.slice(0, most).sort((a, b) => a - b);
}
