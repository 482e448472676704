/** What fingers and the mouse do on the map: move it, pinch it, draw a line around images. */
import type { MapEngine } from './engine';
import { extended } from './lasso';
import { pan, zoomAt, type Point } from './view';

export interface Listener {
  /** Shift or the button: a drag draws a line. */
  lassoing(event: PointerEvent): boolean;
  hover(at: Point | null): void;
  click(at: Point): void;
  /** The line so far; null when none is drawn. */
  line(line: Point[] | null): void;
  enclosed(line: Point[]): void;
}

/** Fewer pixels are a click, not a drag. */
const STEADY = 5;

export class Pointers {
  private readonly down = new Map<number, Point>();
  private dragged = 0;
  private line: Point[] | null = null;

  constructor(
    private readonly engine: () => MapEngine | null,
    private readonly listener: Listener,
  ) {}

  press(event: PointerEvent): void {
    if (event.button !== 0) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    this.down.set(event.pointerId, placeOf(event));
    this.dragged = 0;
    const alone = this.down.size === 1;
    this.draw(alone && this.listener.lassoing(event) ? [placeOf(event)] : null);
    this.listener.hover(null);
  }

  move(event: PointerEvent): void {
    const before = this.down.get(event.pointerId);
    const at = placeOf(event);
    if (!before) {
      this.listener.hover(event.pointerType === 'touch' ? null : at);
      return;
    }
    this.down.set(event.pointerId, at);
    this.dragged += Math.hypot(at.x - before.x, at.y - before.y);
    const other = [...this.down].find(([id]) => id !== event.pointerId)?.[1];
    const engine = this.engine();
    if (this.line) this.draw(extended(this.line, at));
    else if (other) engine?.look((view) => pinched(view, before, at, other), true);
    else engine?.look((view) => pan(view, at.x - before.x, at.y - before.y), true);
  }

  release(event: PointerEvent): void {
    if (!this.down.delete(event.pointerId)) return;
    const line = this.line;
    this.draw(null);
    if (this.dragged < STEADY) this.listener.click(placeOf(event));
    else if (line) this.listener.enclosed(line);
  }

  cancel(event: PointerEvent): void {
    this.down.delete(event.pointerId);
    this.draw(null);
  }

  private draw(line: Point[] | null): void {
    this.line = line;
    this.listener.line(line);
  }
}

/** The place under each finger stays under it, as far as that can be without turning. */
function pinched(view: Parameters<typeof pan>[0], before: Point, at: Point, other: Point) {
  const spread = (one: Point) => Math.max(Math.hypot(one.x - other.x, one.y - other.y), 1);
  const middle = (one: Point) => ({ x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 });
  const [from, to] = [middle(before), middle(at)];
  return zoomAt(pan(view, to.x - from.x, to.y - from.y), spread(at) / spread(before), to);
}

function placeOf(event: MouseEvent): Point {
  return { x: event.offsetX, y: event.offsetY };
}
