/**
 * Carrying images between places with a pointer (mouse, pen or touch). Images are `[data-image]`;
 * places are `[data-group]` and `[data-tray]`. Holding still shows an image large.
 */
import { LEFT } from './grouping';
import { listen, swallowClick } from './pointers';

export interface Handlers {
  /** The images that go along when this one is carried. */
  taken(image: number): readonly number[];
  /** Puts images in a group, or in the tray (LEFT). */
  put(images: readonly number[], group: number): void;
  /** The place under carried images, or null. */
  over(group: number | null): void;
  hold(image: number): void;
  release(): void;
}

interface Carried {
  readonly element: HTMLElement;
  readonly images: readonly number[];
  readonly pointer: number;
  readonly x: number;
  readonly y: number;
  /** Where the pointer is now. */
  at: { x: number; y: number };
  readonly byTouch: boolean;
  ghost: HTMLElement | null;
  holding: boolean;
  /** Put back by a key, while the pointer is still down. */
  cancelled: boolean;
  timer: ReturnType<typeof setTimeout>;
}

/** A pointer that moved less than this, in pixels, has clicked. */
const CLICK = 6;
const EDGE = 48;
const HOLD = 450;
/** Pixels a second by which the page scrolls while images are held at its edge. */
const SPEED = 720;

/** Svelte attachment: lets the images under a node be carried. */
export function carryImages(handlers: Handlers): (node: HTMLElement) => () => void {
  return (node) => {
    let carried: Carried | null = null;

    function down(event: PointerEvent): void {
      const element = closest(event.target, '[data-image]');
      if (element === null || event.button !== 0 || carried !== null || isHeld(event)) return;
      const image = Number(element.dataset['image']);
      const { pointerId: pointer, clientX: x, clientY: y } = event;
      const byTouch = event.pointerType === 'touch';
      const timer = setTimeout(() => {
        if (carried) carried.holding = true;
        handlers.hold(image);
      }, HOLD);
      const images = handlers.taken(image);
      const start = { ghost: null, holding: false, cancelled: false, timer };
      carried = { element, images, pointer, x, y, at: { x, y }, byTouch, ...start };
    }

    /** Whether a pointer that moved this far takes the image along. */
    function isLifted({ byTouch, holding }: Carried, dx: number, dy: number): boolean {
      if (Math.hypot(dx, dy) < CLICK) return false;
      // A finger that goes up or down at once scrolls the page.
      return !byTouch || holding || Math.abs(dx) > Math.abs(dy);
    }

    function lift(carried: Carried): HTMLElement {
      clearTimeout(carried.timer);
      if (carried.holding) handlers.release();
      node.setPointerCapture(carried.pointer);
      mark(carried.images, true);
      requestAnimationFrame(scrollAtEdges);
      return ghostOf(carried.element, carried.images.length);
    }

    function move(event: PointerEvent): void {
      if (carried === null || event.pointerId !== carried.pointer || carried.cancelled) return;
      const { clientX: x, clientY: y } = event;
      const [dx, dy] = [x - carried.x, y - carried.y];
      if (carried.ghost === null && !isLifted(carried, dx, dy)) return;
      carried.at = { x, y };
      carried.ghost ??= lift(carried);
      carried.ghost.style.translate = `${dx}px ${dy}px`;
      handlers.over(placeAt(x, y));
    }

    /** For as long as something is carried: a pointer that rests at an edge goes on scrolling. */
    function scrollAtEdges(before: number): void {
      requestAnimationFrame((now) => {
        if (!carried?.ghost) return;
        const { x, y } = carried.at;
        const towards = y < EDGE ? -1 : y > window.innerHeight - EDGE ? 1 : 0;
        if (towards !== 0) {
          window.scrollBy(0, (towards * SPEED * (now - before)) / 1000);
          handlers.over(placeAt(x, y));
        }
        scrollAtEdges(now);
      });
    }

    /** The Escape key puts back what is carried; letting go does nothing then. */
    function key(event: KeyboardEvent): void {
      if (event.key !== 'Escape' || !carried?.ghost) return;
      event.preventDefault();
      event.stopPropagation();
      putBack(carried);
      carried.cancelled = true;
    }

    /** A finger that carries does not scroll. */
    function touch(event: TouchEvent): void {
      if (carried !== null && (carried.holding || carried.ghost)) event.preventDefault();
    }

    function up(event: PointerEvent): void {
      if (carried === null || event.pointerId !== carried.pointer) return;
      const { images, ghost, holding, cancelled } = carried;
      release();
      if (ghost === null && !holding && !cancelled) return;
      swallowClick(node);
      if (ghost === null) return;
      const group = placeAt(event.clientX, event.clientY);
      if (group !== null) handlers.put(images, group);
    }

    function release(): void {
      if (carried === null) return;
      putBack(carried);
      carried = null;
    }

    function putBack(carried: Carried): void {
      clearTimeout(carried.timer);
      carried.ghost?.remove();
      carried.ghost = null;
      mark(carried.images, false);
      if (carried.holding) handlers.release();
      handlers.over(null);
    }

    function mark(images: readonly number[], isCarried: boolean): void {
      for (const image of images) {
        const tile = node.querySelector<HTMLElement>(`[data-image="${image}"]`);
        if (isCarried) tile?.setAttribute('data-carried', '');
        else tile?.removeAttribute('data-carried');
      }
    }

    const stop = listen(node, {
      down,
      move,
      up,
      cancel: release,
      blocksMenu: () => carried !== null,
    });
    window.addEventListener('keydown', key, { capture: true });
    node.addEventListener('touchmove', touch, { passive: false });
    return () => {
      stop();
      window.removeEventListener('keydown', key, { capture: true });
      node.removeEventListener('touchmove', touch);
    };
  };
}

/** With such a key, the mouse draws a box. */
export function isHeld({ pointerType, shiftKey, ctrlKey, metaKey }: PointerEvent): boolean {
  return pointerType === 'mouse' && (shiftKey || ctrlKey || metaKey);
}

function closest(target: EventTarget | null, selector: string): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>(selector) : null;
}

function placeAt(x: number, y: number): number | null {
  const place = closest(document.elementFromPoint(x, y), '[data-group], [data-tray]');
  if (place === null) return null;
  return place.dataset['group'] === undefined ? LEFT : Number(place.dataset['group']);
}

/** A copy of the image that follows the pointer, with the number of those that go along. */
function ghostOf(element: HTMLElement, count: number): HTMLElement {
  const { left, top, width, height } = element.getBoundingClientRect();
  const ghost = document.createElement('div');
  ghost.className = 'ghost';
  ghost.setAttribute('aria-hidden', 'true');
  const picture = element.querySelector('img');
  if (picture) ghost.append(picture.cloneNode());
  if (count > 1) {
    const number = document.createElement('span');
    number.textContent = String(count);
    ghost.append(number);
  }
  const place = { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` };
  Object.assign(ghost.style, place);
  document.body.append(ghost);
  return ghost;
}
