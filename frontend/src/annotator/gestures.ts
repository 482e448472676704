/** What pointers do on a grid of images beyond a click: boxes drawn around images, and holding. */
import { listen, swallowClick } from './pointers';
import { boxBetween, touches } from './selection';

export interface GridGestures {
  /** Chooses the images in the box, in addition to those chosen before. */
  box(images: number[]): void;
  /** An image is held: a large view of it until `release`; on a touch screen it is chosen, too. */
  hold(image: number, touch: boolean): void;
  release(): void;
}

const CLICK = 6;
const HOLD = 450;

const imageOf = (target: EventTarget | null): number | null => {
  const tile = target instanceof Element ? target.closest<HTMLElement>('[data-image]') : null;
  return tile === null ? null : Number(tile.dataset['image']);
};

/** Svelte attachment: boxes with mouse or pen, holding with any pointer. */
export function gridGestures(gestures: GridGestures): (node: HTMLElement) => () => void {
  return (node) => {
    let start: { x: number; y: number; pointer: number; mouse: boolean } | null = null;
    let box: HTMLElement | null = null;
    let holding = false;
    let timer: ReturnType<typeof setTimeout> | undefined;

    function down(event: PointerEvent): void {
      if (event.button !== 0 || start !== null) return;
      const mouse = event.pointerType !== 'touch';
      start = { x: event.clientX, y: event.clientY, pointer: event.pointerId, mouse };
      const image = imageOf(event.target);
      if (image === null) return;
      timer = setTimeout(() => {
        holding = true;
        gestures.hold(image, !mouse);
      }, HOLD);
    }

    function move(event: PointerEvent): void {
      if (start === null || event.pointerId !== start.pointer) return;
      const { clientX: x, clientY: y } = event;
      if (box === null) {
        if (Math.hypot(x - start.x, y - start.y) < CLICK) return;
        clearTimeout(timer);
        if (!start.mouse || holding) return;
        node.setPointerCapture(start.pointer);
        box = document.createElement('div');
        box.className = 'marquee';
        document.body.append(box);
      }
      const { left, top, right, bottom } = boxBetween(start.x, start.y, x, y);
      Object.assign(box.style, {
        left: `${left}px`,
        top: `${top}px`,
        width: `${right - left}px`,
        height: `${bottom - top}px`,
      });
    }

    function up(event: PointerEvent): void {
      if (start === null || event.pointerId !== start.pointer) return;
      if (box !== null) {
        const drawn = box.getBoundingClientRect();
        const inside = [...node.querySelectorAll<HTMLElement>('[data-image]')].filter((tile) =>
          touches(drawn, tile.getBoundingClientRect()),
        );
        gestures.box(inside.map((tile) => Number(tile.dataset['image'])));
      }
      if (box !== null || holding) swallowClick(node);
      end();
    }

    function end(): void {
      clearTimeout(timer);
      box?.remove();
      if (holding) gestures.release();
      start = box = null;
      holding = false;
    }

    return listen(node, {
      down,
      move,
      up,
      cancel: end,
      // Holding an image is a gesture on touch screens; the menu would cover it.
      blocksMenu: () => start !== null && !start.mouse,
    });
  };
}
