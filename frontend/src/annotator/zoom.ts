/** How an image is magnified in a frame, and where it lies there. Pure: each returns a new view. */

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** An image, in its own pixels, and the frame through which it is seen. */
export interface Scene {
  readonly image: Size;
  readonly frame: Size;
}

/** x, y: from the middle of the frame to that of the image. At zoom 1 the image fits the frame. */
export interface View extends Point {
  readonly zoom: number;
}

export const WHOLE: View = { zoom: 1, x: 0, y: 0 };
const MOST = 8;
const CLOSER = 2;
/** Steps of zoom are powers of two, and halfway between them; less than this is no difference. */
const SLIGHT = 1e-3;

function fitted({ image, frame }: Scene): Size {
  const scale = Math.min(frame.width / image.width, frame.height / image.height);
  return { width: image.width * scale, height: image.height * scale };
}

/** The zoom at which the image's short side fills the frame. */
export function covering(scene: Scene): number {
  const { width, height } = fitted(scene);
  return Math.max(scene.frame.width / width, scene.frame.height / height);
}

/** Very long images can be magnified further than others, and so can those of many pixels. */
export function largestZoom(scene: Scene): number {
  return Math.max(MOST, scene.image.width / fitted(scene).width, covering(scene));
}

/** Where a double click leads: closer to a point, or back to the whole image. */
export function switched(view: View, at: Point, scene: Scene): View {
  if (view.zoom > 1) return WHOLE;
  return zoomed(view, Math.max(CLOSER, covering(scene)), at, scene);
}

/** The next step of zoom up (1) or down (-1). */
export function stepped(zoom: number, direction: 1 | -1): number {
  const beyond = zoom * (1 + direction * SLIGHT);
  const below = 2 ** Math.floor(Math.log2(beyond));
  const halfway = 1.5 * below;
  if (direction > 0) return beyond < halfway ? halfway : 2 * below;
  return beyond > halfway ? halfway : below;
}

/** Magnified by a factor; what is at a point (from the frame's middle) stays there if it can. */
export function zoomed(view: View, factor: number, at: Point, scene: Scene): View {
  const zoom = Math.min(largestZoom(scene), Math.max(1, view.zoom * factor));
  const part = zoom / view.zoom;
  const next = { zoom, x: at.x - (at.x - view.x) * part, y: at.y - (at.y - view.y) * part };
  return clamped(next, scene);
}

export function moved(view: View, dx: number, dy: number, scene: Scene): View {
  return clamped({ ...view, x: view.x + dx, y: view.y + dy }, scene);
}

/** Within limits: the frame shows no more of what is next to the image than it must. */
export function clamped(view: View, scene: Scene): View {
  const zoom = Math.min(largestZoom(scene), Math.max(1, view.zoom));
  const { width, height } = fitted(scene);
  return {
    zoom,
    x: within(view.x, (width * zoom - scene.frame.width) / 2),
    y: within(view.y, (height * zoom - scene.frame.height) / 2),
  };
}

function within(offset: number, room: number): number {
  const most = Math.max(0, room);
  return Math.min(most, Math.max(-most, offset));
}
