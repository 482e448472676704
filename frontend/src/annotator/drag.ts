/**
 * Carrying images between places with a pointer (mouse, pen or touch), and picking one by a click to
 * put it down by another. Images are `[data-image]`; places are `[data-group]` and `[data-tray]`.
 */
import { LEFT } from './grouping';

export interface Hands {
  /** Puts an image in a group, or in the tray (LEFT). */
  put(image: number, group: number): void;
  /** A click: on an image, on the free ground of a place, or on both at once. */
  click(image: number | null, group: number): void;
  /** The place under a carried image, or null. */
  over(group: number | null): void;
}

interface Carried {
  readonly element: HTMLElement;
  readonly image: number;
  readonly pointer: number;
  readonly x: number;
  readonly y: number;
  ghost: HTMLElement | null;
}

/** A pointer that moved less than this, in pixels, has clicked. */
const CLICK = 6;
const EDGE = 48;

/** Svelte attachment: lets the images under a node be carried. */
export function carryImages(hands: Hands): (node: HTMLElement) => () => void {
  return (node) => {
    let carried: Carried | null = null;
    let justDropped = false;

    function down(event: PointerEvent): void {
      const element = closest(event.target, '[data-image]');
      if (element === null || event.button !== 0 || carried !== null) return;
      const image = Number(element.dataset['image']);
      const { pointerId: pointer, clientX: x, clientY: y } = event;
      justDropped = false;
      carried = { element, image, pointer, x, y, ghost: null };
    }

    function move(event: PointerEvent): void {
      if (carried === null || event.pointerId !== carried.pointer) return;
      const { clientX: x, clientY: y } = event;
      if (carried.ghost === null) {
        if (Math.hypot(x - carried.x, y - carried.y) < CLICK) return;
        node.setPointerCapture(carried.pointer);
        carried.ghost = ghostOf(carried.element);
        carried.element.dataset['carried'] = '';
      }
      carried.ghost.style.translate = `${x - carried.x}px ${y - carried.y}px`;
      hands.over(placeAt(x, y));
      scrollAtEdges(y);
    }

    function up(event: PointerEvent): void {
      if (carried === null || event.pointerId !== carried.pointer) return;
      const { image, ghost } = carried;
      release();
      if (ghost === null) return;
      // The browser may follow a drag with a click, which is not one of the annotator's.
      justDropped = true;
      setTimeout(() => (justDropped = false));
      const group = placeAt(event.clientX, event.clientY);
      if (group !== null) hands.put(image, group);
    }

    function release(): void {
      if (carried === null) return;
      carried.ghost?.remove();
      delete carried.element.dataset['carried'];
      carried = null;
      hands.over(null);
    }

    function click(event: MouseEvent): void {
      const group = groupOfPlace(event.target);
      if (justDropped || group === null) return;
      const image = closest(event.target, '[data-image]')?.dataset['image'];
      hands.click(image === undefined ? null : Number(image), group);
    }

    const listeners = {
      pointerdown: down,
      pointermove: move,
      pointerup: up,
      pointercancel: release,
      click,
    };
    for (const [name, listener] of Object.entries(listeners)) {
      node.addEventListener(name, listener as EventListener);
    }
    return () => {
      release();
      for (const [name, listener] of Object.entries(listeners)) {
        node.removeEventListener(name, listener as EventListener);
      }
    };
  };
}

function closest(target: EventTarget | null, selector: string): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>(selector) : null;
}

function groupOfPlace(target: EventTarget | null): number | null {
  const place = closest(target, '[data-group], [data-tray]');
  if (place === null) return null;
  return place.dataset['group'] === undefined ? LEFT : Number(place.dataset['group']);
}

function placeAt(x: number, y: number): number | null {
  return groupOfPlace(document.elementFromPoint(x, y));
}

/** A copy of the image that follows the pointer; it catches no events. */
function ghostOf(element: HTMLElement): HTMLElement {
  const { left, top, width, height } = element.getBoundingClientRect();
  const ghost = element.cloneNode(true) as HTMLElement;
  // The copy is no image of the task: nothing may find it as one.
  for (const name of ['data-image', 'aria-label', 'aria-pressed']) ghost.removeAttribute(name);
  ghost.setAttribute('aria-hidden', 'true');
  ghost.inert = true;
  Object.assign(ghost.style, {
    position: 'fixed',
    left: `${left}px`,
    top: `${top}px`,
    width: `${width}px`,
    height: `${height}px`,
    zIndex: '10',
    pointerEvents: 'none',
    boxShadow: 'var(--shadow)',
  });
  document.body.append(ghost);
  return ghost;
}

function scrollAtEdges(y: number): void {
  if (y < EDGE) window.scrollBy(0, -12);
  else if (y > window.innerHeight - EDGE) window.scrollBy(0, 12);
}
