/** What paints a map: WebGL 2, or a 2-D canvas where there is none. */
import type { PointIndex } from './points';
import type { Theme } from './theme';
import type { Size, View } from './view';

/** Numbers of one picture in `Frame.pictures`. */
export const STRIDE = 10;

/**
 * One picture of a frame: its middle and half its side in CSS pixels, where it lies (page, and
 * left, top, width, height in pixels on that page), the slot of its colour (−1 for no frame of its
 * own), and how much of it is seen.
 */
export type Picture = [
  x: number,
  y: number,
  half: number,
  page: number,
  left: number,
  top: number,
  width: number,
  height: number,
  slot: number,
  seen: number,
];

export interface Frame extends Size {
  /** Device pixels a CSS pixel. */
  ratio: number;
  view: View;
  /** How far the points have moved from their places before, 0 to 1. */
  share: number;
  /** Diameter of a dot in CSS pixels. */
  dot: number;
  /** Of a dot: many on each other show how many they are. */
  opacity: number;
  /** Dots outside the selection are dimmed. */
  selecting: boolean;
  pictures: Float32Array;
  nPictures: number;
  theme: Theme;
}

/** Set in a point's code in addition to its slot: it is in the selection. */
export const CHOSEN = 128;

export interface Surface {
  readonly kind: 'webgl' | '2d';
  /** `before`: where the points come from, in the order of `index.order` like all arrays here. */
  setPoints(index: PointIndex, before: Float32Array | null): void;
  /** Slot and CHOSEN of each point; `palette` as of `paletteOf`. */
  setColours(codes: Uint8Array, palette: Float32Array): void;
  upload(page: number, x: number, y: number, bitmap: ImageBitmap): void;
  /** Whether there is more to paint of this very frame. */
  draw(frame: Frame): boolean;
  destroy(): void;
}

/** Places in the order of the index. */
export function inOrder(index: PointIndex, places: Float32Array): Float32Array {
  const sorted = new Float32Array(2 * index.order.length);
  index.order.forEach((image, k) => {
    // An image that is new in this model has no place before: it appears where it is.
    const from = 2 * image + 1 < places.length ? places : index.places;
    sorted[2 * k] = from[2 * image]!;
    sorted[2 * k + 1] = from[2 * image + 1]!;
  });
  return sorted;
}
