/**
 * The magnifying glass in the corner of an image. It is part of the image's button: for the keyboard
 * and for screen readers, the space bar does the same, and there is no second button to pass.
 */

/** The image on whose magnifying glass a pointer is. Some browsers name only the button as target. */
function glassAt({ target, clientX: x, clientY: y }: MouseEvent): HTMLElement | null {
  const tile = target instanceof Element ? target.closest<HTMLElement>('[data-image]') : null;
  const box = tile?.querySelector('.loupe')?.getBoundingClientRect();
  // Where it is not shown, its box is empty.
  if (!box || x < box.left || x >= box.right || y < box.top || y >= box.bottom) return null;
  return tile;
}

/** Listens on a node. A press on the magnifying glass does not count as a press on the image. */
export function watchLoupes(
  node: HTMLElement,
  press: () => void,
  open: (image: number) => void,
): () => void {
  const stopping = new AbortController();
  const options = { capture: true, signal: stopping.signal };
  let pressed: HTMLElement | null = null;

  function down(event: PointerEvent): void {
    pressed = glassAt(event);
    if (pressed === null) return;
    event.stopPropagation();
    press();
  }

  function up(event: PointerEvent): void {
    if (pressed !== null) event.stopPropagation();
  }

  function click(event: MouseEvent): void {
    // Keys click, too, wherever a pointer was before.
    if (pressed === null || event.detail === 0) return;
    event.stopPropagation();
    if (glassAt(event) !== pressed) return;
    // Not all browsers give the focus to a button that is clicked; it comes back there.
    pressed.focus();
    open(Number(pressed.dataset['image']));
  }

  node.addEventListener('pointerdown', down, options);
  node.addEventListener('pointerup', up, options);
  node.addEventListener('click', click, options);
  return () => stopping.abort();
}
