/**
 * The magnifying glass in the corner of an image. It is part of the image's button, so that the Tab
 * key and screen readers do not come to each one twice: they have the space bar for it.
 */

/** The image on whose glass a pointer is. Some browsers say no more than that it is on the button. */
function glassAt({ target, clientX: x, clientY: y }: MouseEvent): HTMLElement | null {
  const tile = target instanceof Element ? target.closest<HTMLElement>('[data-image]') : null;
  const box = tile?.querySelector('.loupe')?.getBoundingClientRect();
  // Where it is not shown, its box is empty.
  if (!box || x < box.left || x >= box.right || y < box.top || y >= box.bottom) return null;
  return tile;
}

/** Listens on a node: a press on a glass is none on its image. Returns how to stop. */
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
