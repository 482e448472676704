/**
 * What pointers do on a grid of images beyond a click: strokes over images, boxes around them, and
 * holding. A press of any length that stays on an image is a click.
 */
import { listen, swallowClick } from './pointers';
import { boxBetween, entry, inner, touches } from './selection';

export interface GridGestures {
  /** Whether a press begins anything here; without it, each does. */
  takes?(event: PointerEvent, tile: HTMLElement | null): boolean;
  /** Whether a drag of the mouse is a stroke; with Shift or Ctrl it is always a box. */
  paints(): boolean;
  /** The images under a stroke or a box so far, in the order in which they were reached. */
  over(images: readonly number[], isStroke: boolean): void;
  /** The stroke or box is done; `cancelled`: nothing comes of it. */
  drop(cancelled: boolean): void;
  /** An image is held with a finger or pen: a large view of it until `release`. */
  hold(image: number): void;
  release(): void;
}

interface Press {
  x: number;
  y: number;
  readonly pointer: number;
  readonly mouse: boolean;
  readonly tile: HTMLElement | null;
  /** What is drawn, once it is more than a click. */
  drawing: Set<number> | null;
  box: HTMLElement | null;
}

/** A pointer that moved less than this, in pixels, has clicked. */
const CLICK = 10;
const HOLD = 450;

const tileOf = (target: EventTarget | null): HTMLElement | null =>
  target instanceof Element ? target.closest<HTMLElement>('[data-image]') : null;
const imageOf = (tile: HTMLElement): number => Number(tile.dataset['image']);

/** Svelte attachment: strokes with any pointer, boxes with mouse or pen, holding on touch. */
export function gridGestures(gestures: GridGestures): (node: HTMLElement) => () => void {
  return (node) => {
    let press: Press | null = null;
    let holding = false;
    let timer: ReturnType<typeof setTimeout> | undefined;

    function down(event: PointerEvent): void {
      if (event.button !== 0) return;
      // A second finger is about to zoom.
      if (press !== null) return cancel();
      const { clientX: x, clientY: y, pointerId: pointer } = event;
      const mouse = event.pointerType === 'mouse';
      const tile = tileOf(event.target);
      if (gestures.takes?.(event, tile) === false) return;
      press = { x, y, pointer, mouse, tile, drawing: null, box: null };
      if (tile === null || mouse) return;
      timer = setTimeout(() => {
        holding = true;
        gestures.hold(imageOf(tile));
      }, HOLD);
    }

    /** A finger moves a page that fingers have magnified, in any direction. */
    const magnified = (): boolean => (visualViewport?.scale ?? 1) > 1.05;
    const adapt = (): void => void (node.style.touchAction = magnified() ? 'auto' : '');
    visualViewport?.addEventListener('resize', adapt);

    function move(event: PointerEvent): void {
      if (event.pointerType !== 'mouse' && magnified()) return;
      if (press === null || event.pointerId !== press.pointer || holding) return;
      if (press.drawing === null && !begins(press, event)) return;
      clearTimeout(timer);
      if (press.drawing === null) begin(press, event);
      if (press.box) drawBox(press, event);
      else drawStroke(press, event);
      gestures.over([...press.drawing!], press.box === null);
    }

    function begins({ x, y, tile, mouse }: Press, event: PointerEvent): boolean {
      const { clientX, clientY } = event;
      if (Math.hypot(clientX - x, clientY - y) < CLICK) return false;
      if (!mouse || isBox(event) || tile === null) return true;
      const { left, right, top, bottom } = tile.getBoundingClientRect();
      return clientX < left || clientX > right || clientY < top || clientY > bottom;
    }

    function isBox({ pointerType, shiftKey, ctrlKey, metaKey }: PointerEvent): boolean {
      if (shiftKey || ctrlKey || metaKey) return true;
      return pointerType === 'mouse' && !gestures.paints();
    }

    function begin(press: Press, event: PointerEvent): void {
      node.setPointerCapture(press.pointer);
      window.addEventListener('keydown', escape, true);
      press.drawing = new Set(press.tile ? [imageOf(press.tile)] : []);
      if (!isBox(event)) return;
      press.box = document.createElement('div');
      press.box.className = 'marquee';
      document.body.append(press.box);
    }

    function drawBox(press: Press, { clientX, clientY }: PointerEvent): void {
      const drawn = boxBetween(press.x, press.y, clientX, clientY);
      const { left, top, right, bottom } = drawn;
      Object.assign(press.box!.style, {
        left: `${left}px`,
        top: `${top}px`,
        width: `${right - left}px`,
        height: `${bottom - top}px`,
      });
      const inside = tiles().filter((tile) => touches(drawn, tile.getBoundingClientRect()));
      press.drawing = new Set(inside.map(imageOf));
    }

    /** A fast pointer is seen here and there only: what lies in between was crossed, too. */
    function drawStroke(press: Press, { clientX: x, clientY: y }: PointerEvent): void {
      tiles()
        .map((tile) => ({
          image: imageOf(tile),
          at: entry(inner(tile.getBoundingClientRect()), press.x, press.y, x, y),
        }))
        .filter(({ at }) => at !== null)
        .sort((one, other) => one.at! - other.at!)
        .forEach(({ image }) => press.drawing!.add(image));
      Object.assign(press, { x, y });
    }

    function tiles(): HTMLElement[] {
      return [...node.querySelectorAll<HTMLElement>('[data-image]')];
    }

    function up(event: PointerEvent): void {
      if (press === null || event.pointerId !== press.pointer) return;
      const { drawing, tile } = press;
      if (drawing || holding) swallowClick(node);
      // Let go next to the image it was pressed on: the browser makes no click of it.
      else if (tile !== null && tile !== tileOf(event.target)) {
        tile.dispatchEvent(new MouseEvent('click', event));
      }
      end(false);
    }

    function escape(event: KeyboardEvent): void {
      if (event.key !== 'Escape') return;
      event.stopImmediatePropagation();
      cancel();
    }

    const cancel = (): void => end(true);

    function end(cancelled: boolean): void {
      clearTimeout(timer);
      window.removeEventListener('keydown', escape, true);
      press?.box?.remove();
      if (press?.drawing) gestures.drop(cancelled);
      if (holding) gestures.release();
      press = null;
      holding = false;
    }

    const stop = listen(node, {
      down,
      move,
      up,
      cancel,
      // Holding an image is a gesture on touch screens; the menu would cover it.
      blocksMenu: () => press !== null && !press.mouse,
    });
    return () => {
      visualViewport?.removeEventListener('resize', adapt);
      stop();
    };
  };
}
