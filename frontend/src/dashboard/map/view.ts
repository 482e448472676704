/** The map's view: the world is the unit square, the screen is in CSS pixels. */

export interface View {
  /** Screen pixels per unit of the world. */
  scale: number;
  /** Screen position of the world's origin. */
  x: number;
  y: number;
}

export interface Point {
  x: number;
  y: number;
}

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Size {
  width: number;
  height: number;
}

const SMALLEST = 50;
const LARGEST = 200_000;

/** The view that shows `box` whole, in the middle. */
export function fit(box: Box, { width, height }: Size, margin: number): View {
  const across = Math.max(box.right - box.left, 1e-4);
  const down = Math.max(box.bottom - box.top, 1e-4);
  const room = (side: number) => Math.max(side - 2 * margin, 1);
  const scale = bounded(Math.min(room(width) / across, room(height) / down));
  return {
    scale,
    x: width / 2 - (scale * (box.left + box.right)) / 2,
    y: height / 2 - (scale * (box.top + box.bottom)) / 2,
  };
}

export function toScreen(view: View, point: Point): Point {
  return { x: view.x + view.scale * point.x, y: view.y + view.scale * point.y };
}

export function toWorld(view: View, at: Point): Point {
  return { x: (at.x - view.x) / view.scale, y: (at.y - view.y) / view.scale };
}

/** The part of the world on a screen of this size, and `margin` pixels around it. */
export function inView(view: View, { width, height }: Size, margin = 0): Box {
  const { x: left, y: top } = toWorld(view, { x: -margin, y: -margin });
  const { x: right, y: bottom } = toWorld(view, { x: width + margin, y: height + margin });
  return { left, top, right, bottom };
}

export function pan(view: View, dx: number, dy: number): View {
  return { ...view, x: view.x + dx, y: view.y + dy };
}

/** Zoom by `factor` so that the world under the screen point `at` stays there. */
export function zoomAt(view: View, factor: number, at: Point): View {
  const scale = bounded(view.scale * factor);
  const real = scale / view.scale;
  return { scale, x: at.x - (at.x - view.x) * real, y: at.y - (at.y - view.y) * real };
}

/**
 * A step of a smooth way from one view to another, `share` of it: the middle of the screen moves
 * and the scale grows by equal factors, so that nothing swings about.
 */
export function between(from: View, to: View, share: number, size: Size): View {
  const scale = from.scale * (to.scale / from.scale) ** share;
  const middle = { x: size.width / 2, y: size.height / 2 };
  const [a, b] = [toWorld(from, middle), toWorld(to, middle)];
  // Measured in what the step covers at the larger scale: a point under the pointer stays there.
  const along =
    from.scale === to.scale
      ? share
      : (1 / from.scale - 1 / scale) / (1 / from.scale - 1 / to.scale);
  return {
    scale,
    x: middle.x - scale * (a.x + (b.x - a.x) * along),
    y: middle.y - scale * (a.y + (b.y - a.y) * along),
  };
}

/** So near that nobody sees the difference. */
export function isSame(one: View, other: View): boolean {
  return (
    Math.abs(one.scale / other.scale - 1) < 5e-4 &&
    Math.hypot(one.x - other.x, one.y - other.y) < 0.3 + one.scale * 1e-4
  );
}

function bounded(scale: number): number {
  return Math.min(Math.max(scale, SMALLEST), LARGEST);
}
