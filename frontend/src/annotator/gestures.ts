/** What pointers do on a grid of images beyond a click: boxes drawn around images, and holding. */
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
      if (box !== null || holding) swallowClick();
      end();
    }

    function end(): void {
      clearTimeout(timer);
      box?.remove();
      if (holding) gestures.release();
      start = box = null;
      holding = false;
    }

    /** The browser follows a drag or a hold with a click, which is not one of the annotator's. */
    function swallowClick(): void {
      const stop = (click: Event) => click.stopPropagation();
      node.addEventListener('click', stop, { capture: true, once: true });
      setTimeout(() => node.removeEventListener('click', stop, { capture: true }));
    }

    const noMenu = (event: Event) => {
      // Holding an image is a gesture here; its own menu would cover it.
      if (start !== null && !start.mouse) event.preventDefault();
    };

    const listeners: [string, (event: never) => void][] = [
      ['pointerdown', down],
      ['pointermove', move],
      ['contextmenu', noMenu],
    ];
    for (const [name, listener] of listeners)
      node.addEventListener(name, listener as EventListener);
    // A pointer may be let go anywhere.
    window.addEventListener('pointerup', up);
    window.addEventListener('pointercancel', end);
    return () => {
      window.removeEventListener('pointerup', up);
      window.removeEventListener('pointercancel', end);
      end();
      for (const [name, listener] of listeners) {
        node.removeEventListener(name, listener as EventListener);
      }
    };
  };
}
