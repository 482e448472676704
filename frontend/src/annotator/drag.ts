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
  ghost: HTMLElement | null;
  holding: boolean;
  timer: ReturnType<typeof setTimeout>;
}

/** A pointer that moved less than this, in pixels, has clicked. */
const CLICK = 6;
const EDGE = 48;
const HOLD = 450;

/** Svelte attachment: lets the images under a node be carried. */
export function carryImages(handlers: Handlers): (node: HTMLElement) => () => void {
  return (node) => {
    let carried: Carried | null = null;

    function down(event: PointerEvent): void {
      const element = closest(event.target, '[data-image]');
      if (element === null || event.button !== 0 || carried !== null) return;
      const image = Number(element.dataset['image']);
      const { pointerId: pointer, clientX: x, clientY: y } = event;
      const timer = setTimeout(() => {
        if (carried) carried.holding = true;
        handlers.hold(image);
      }, HOLD);
      const images = handlers.taken(image);
      carried = { element, images, pointer, x, y, ghost: null, holding: false, timer };
    }

    function move(event: PointerEvent): void {
      if (carried === null || event.pointerId !== carried.pointer) return;
      const { clientX: x, clientY: y } = event;
      if (carried.ghost === null) {
        if (Math.hypot(x - carried.x, y - carried.y) < CLICK) return;
        clearTimeout(carried.timer);
        if (carried.holding) handlers.release();
        node.setPointerCapture(carried.pointer);
        carried.ghost = ghostOf(carried.element, carried.images.length);
        mark(carried.images, true);
      }
      carried.ghost.style.translate = `${x - carried.x}px ${y - carried.y}px`;
      handlers.over(placeAt(x, y));
      scrollAtEdges(y);
    }

    function up(event: PointerEvent): void {
      if (carried === null || event.pointerId !== carried.pointer) return;
      const { images, ghost, holding } = carried;
      release();
      if (ghost === null && !holding) return;
      swallowClick(node);
      if (ghost === null) return;
      const group = placeAt(event.clientX, event.clientY);
      if (group !== null) handlers.put(images, group);
    }

    function release(): void {
      if (carried === null) return;
      clearTimeout(carried.timer);
      carried.ghost?.remove();
      mark(carried.images, false);
      if (carried.holding) handlers.release();
      carried = null;
      handlers.over(null);
    }

    function mark(images: readonly number[], isCarried: boolean): void {
      for (const image of images) {
        const tile = node.querySelector<HTMLElement>(`[data-image="${image}"]`);
        if (isCarried) tile?.setAttribute('data-carried', '');
        else tile?.removeAttribute('data-carried');
      }
    }

    return listen(node, {
      down,
      move,
      up,
      cancel: release,
      blocksMenu: () => carried !== null,
    });
  };
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

function scrollAtEdges(y: number): void {
  if (y < EDGE) window.scrollBy(0, -12);
  else if (y > window.innerHeight - EDGE) window.scrollBy(0, 12);
}
