/** Holding an image with a finger or pen, where pointers do nothing else but click. */
import { listen, swallowClick } from './pointers';
import { imageOf } from './keys';

interface Holding {
  hold(image: number): void;
  release(): void;
}

/** A pointer that moved less than this, in pixels, is held still. */
const STILL = 10;
const HOLD = 450;

/** Svelte attachment: shows an image for as long as it is held. */
export function holdImages(handlers: Holding): (node: HTMLElement) => () => void {
  return (node) => {
    let press: { pointer: number; x: number; y: number; holds: boolean } | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;

    function down(event: PointerEvent): void {
      const image = imageOf(event.target as Element);
      if (press !== null) return cancel();
      if (image === null || event.pointerType === 'mouse') return;
      const current = {
        pointer: event.pointerId,
        x: event.clientX,
        y: event.clientY,
        holds: false,
      };
      press = current;
      timer = setTimeout(() => {
        current.holds = true;
        handlers.hold(image);
      }, HOLD);
    }

    function move({ pointerId, clientX, clientY }: PointerEvent): void {
      if (press === null || press.holds || pointerId !== press.pointer) return;
      if (Math.hypot(clientX - press.x, clientY - press.y) > STILL) cancel();
    }

    function up({ pointerId }: PointerEvent): void {
      if (pointerId !== press?.pointer) return;
      if (press.holds) swallowClick(node);
      cancel();
    }

    function cancel(): void {
      clearTimeout(timer);
      if (press?.holds) handlers.release();
      press = null;
    }

    return listen(node, { down, move, up, cancel, blocksMenu: () => press !== null });
  };
}
