/** What pointers and the wheel do on a magnified image. */
import { listen } from './pointers';
import type { Point } from './zoom';

/** Points are from the middle of the frame. */
export interface ZoomGestures {
  zoom(factor: number, at: Point): void;
  move(dx: number, dy: number): void;
  /** A click or tap; `isSecond`: right after another one at the same place. */
  tap(at: Point, isSecond: boolean): void;
}

/** A pointer that moved less than this, in pixels, has clicked. */
const CLICK = 6;
const DOUBLE_MS = 350;
const DOUBLE_PX = 30;
/** Pixels of a line, for wheels that count lines. */
const LINE = 16;

/** Svelte attachment: dragging, pinching, clicks and the wheel. */
export function zoomGestures(gestures: ZoomGestures): (node: HTMLElement) => () => void {
  return (node) => {
    const pointers = new Map<number, Point>();
    /** Where the only pointer was pressed, for as long as it may be a click. */
    let start: Point | null = null;
    let last = { x: 0, y: 0, time: -DOUBLE_MS };

    function placeOf({ clientX, clientY }: MouseEvent): Point {
      const { left, top, width, height } = node.getBoundingClientRect();
      return { x: clientX - left - width / 2, y: clientY - top - height / 2 };
    }

    function down(event: PointerEvent): void {
      if (event.button !== 0) return;
      // Two fingers have not tapped, however little they moved.
      start = pointers.size === 0 ? placeOf(event) : null;
      pointers.set(event.pointerId, placeOf(event));
      node.setPointerCapture(event.pointerId);
    }

    function move(event: PointerEvent): void {
      if (!pointers.has(event.pointerId)) return;
      const to = placeOf(event);
      const before = summary(pointers);
      pointers.set(event.pointerId, to);
      if (start && Math.hypot(to.x - start.x, to.y - start.y) < CLICK) return;
      start = null;
      const after = summary(pointers);
      if (before.spread > 0) gestures.zoom(after.spread / before.spread, before);
      gestures.move(after.x - before.x, after.y - before.y);
    }

    function up(event: PointerEvent): void {
      if (!pointers.delete(event.pointerId) || start === null) return;
      const { x, y } = placeOf(event);
      const isNear = Math.hypot(x - last.x, y - last.y) < DOUBLE_PX;
      const isSecond = isNear && event.timeStamp - last.time < DOUBLE_MS;
      last = { x, y, time: isSecond ? -DOUBLE_MS : event.timeStamp };
      gestures.tap({ x, y }, isSecond);
    }

    function wheel(event: WheelEvent): void {
      event.preventDefault();
      const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1);
      // Two fingers on a touchpad come as a wheel with Ctrl, in small steps.
      gestures.zoom(Math.exp(-pixels / (event.ctrlKey ? 100 : 500)), placeOf(event));
    }

    const stop = listen(node, {
      down,
      move,
      up,
      cancel: () => pointers.clear(),
      blocksMenu: () => pointers.size > 0,
    });
    node.addEventListener('wheel', wheel, { passive: false });
    return () => {
      stop();
      node.removeEventListener('wheel', wheel);
    };
  };
}

/** The middle of all pointers, and how far they are from it. */
function summary(pointers: ReadonlyMap<number, Point>): Point & { spread: number } {
  const all = [...pointers.values()];
  const x = all.reduce((sum, point) => sum + point.x, 0) / all.length;
  const y = all.reduce((sum, point) => sum + point.y, 0) / all.length;
  return { x, y, spread: Math.max(...all.map((point) => Math.hypot(point.x - x, point.y - y))) };
}
