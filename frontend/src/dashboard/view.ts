/** The map's view: world coordinates are the unit square, the screen is in CSS pixels. */

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

export function fit(width: number, height: number, margin: number): View {
  const scale = Math.max(Math.min(width, height) - 2 * margin, 1);
  return { scale, x: (width - scale) / 2, y: (height - scale) / 2 };
}

export function toScreen(view: View, point: Point): Point {
  return { x: view.x + view.scale * point.x, y: view.y + view.scale * point.y };
}

export function pan(view: View, dx: number, dy: number): View {
  return { ...view, x: view.x + dx, y: view.y + dy };
}

/** Zoom by `factor` so that the world under the screen point `at` stays there. */
export function zoomAt(view: View, factor: number, at: Point): View {
  const scale = Math.min(Math.max(view.scale * factor, 50), 200_000);
  const real = scale / view.scale;
  return { scale, x: at.x - (at.x - view.x) * real, y: at.y - (at.y - view.y) * real };
}

/** Index of the point nearest to a screen position, or −1 when none is within `radius` pixels. */
export function nearest(points: readonly Point[], view: View, at: Point, radius: number): number {
  let found = -1;
  let best = radius * radius;
  points.forEach((point, index) => {
    const { x, y } = toScreen(view, point);
    const distance = (x - at.x) ** 2 + (y - at.y) ** 2;
    if (distance <= best) {
      best = distance;
      found = index;
    }
  });
  return found;
}

/** Side of a thumbnail on the map: smaller when there are many, larger when zoomed in. */
export function thumbnailSize(view: View, count: number): number {
  return Math.min(Math.max((0.6 * view.scale) / Math.sqrt(Math.max(count, 1)), 12), 96);
}
