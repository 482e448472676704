/** Which images are pictures in a view, and how large; the others are dots. */
import type { Layout } from './layout';
import { withoutPiles } from './spread';
import { levelFor } from './tiles';
import { inView, type Size, type View } from './view';

export const DENSITIES = { none: 0, small: 22, medium: 34, large: 60 };
export type Density = keyof typeof DENSITIES;

/** With at most this many images in view, all of them are pictures. */
const FEW = 400;
const LARGEST = 150;
/** Cells with one picture each are at least this many pictures wide. */
const APART = 0.8;
const OVERLAP = { far: -0.15, near: 0.5 };

export interface Choice {
  /** near: every image in view; far: a well-spread part of them; dots: none. */
  detail: 'dots' | 'far' | 'near';
  /** The most important first. */
  images: number[];
  /** Places on the screen, aligned with `images`. */
  xs: number[];
  ys: number[];
  /** Side of a picture in CSS pixels. */
  side: number;
}

/**
 * Diameter of a dot in CSS pixels, and its opacity: apart when zoomed in, still dots when zoomed
 * out, and then seen through, so that a crowd is darker than a few.
 */
export function dotStyle({ index }: Layout, view: View): { dot: number; opacity: number } {
  const room = view.scale * index.spacing;
  return {
    dot: Math.min(Math.max(0.3 * room, 3), 9),
    opacity: Math.min(Math.max(0.25 + 0.12 * room, 0.35), 0.9),
  };
}

/**
 * The pictures of a view. A picture is as large as there is room on average, at least `density`
 * says. `always`: an image that is a picture in any case; `move`: where images are on their way.
 */
export function choose(
  layout: Layout,
  view: View,
  size: Size,
  density: Density,
  always: number | null,
  move: (image: number) => [number, number],
): Choice {
  const least = DENSITIES[density];
  const first = always === null || always >= layout.n ? [] : [always];
  if (least === 0) return settled('dots', first, DENSITIES.medium, 0, view, size, move);
  const side = Math.min(Math.max(0.8 * view.scale * layout.index.spacing, least), LARGEST);
  const box = inView(view, size, side);
  const few = layout.index.within(box, FEW);
  const { levels } = layout.tiles;
  if (few) {
    few.sort((a, b) => levels[a]! - levels[b]! || a - b);
    return settled('near', [...first, ...few], side, OVERLAP.near, view, size, move);
  }
  const level = levelFor(view.scale, APART * side);
  const images = layout.tiles.inBox(box, level).flatMap((tile) => layout.tiles.images(tile));
  return settled('far', [...first, ...images], side, OVERLAP.far, view, size, move);
}

function settled(
  detail: Choice['detail'],
  wished: number[],
  side: number,
  overlap: number,
  view: View,
  size: Size,
  move: (image: number) => [number, number],
): Choice {
  const images: number[] = [];
  const [xs, ys]: [number[], number[]] = [[], []];
  for (const image of new Set(wished)) {
    const [x, y] = move(image);
    const [left, top] = [view.x + view.scale * x, view.y + view.scale * y];
    if (left < -side || top < -side || left > size.width + side || top > size.height + side)
      continue;
    images.push(image);
    xs.push(left);
    ys.push(top);
  }
  const kept = withoutPiles(xs, ys, side, overlap);
  return {
    detail,
    images: kept.map((k) => images[k]!),
    xs: kept.map((k) => xs[k]!),
    ys: kept.map((k) => ys[k]!),
    side,
  };
}
