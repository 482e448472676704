/** What listening to pointers takes, whatever they do. */

export interface PointerListeners {
  down(event: PointerEvent): void;
  move(event: PointerEvent): void;
  up(event: PointerEvent): void;
  /** The pointer was taken away: nothing is to come of it. */
  cancel(): void;
  /** Whether the browser's own menu would come in between. */
  blocksMenu(): boolean;
}

/** Listens on a node; a pointer may be let go anywhere. Returns how to stop. */
export function listen(node: HTMLElement, listeners: PointerListeners): () => void {
  const stopping = new AbortController();
  const { signal } = stopping;
  node.addEventListener('pointerdown', listeners.down, { signal });
  node.addEventListener('pointermove', listeners.move, { signal });
  window.addEventListener('pointerup', listeners.up, { signal });
  window.addEventListener('pointercancel', listeners.cancel, { signal });
  node.addEventListener(
    'contextmenu',
    (event) => {
      if (listeners.blocksMenu()) event.preventDefault();
    },
    { signal },
  );
  return () => {
    listeners.cancel();
    stopping.abort();
  };
}

/** The browser may follow a drag or a hold with a click, which is not one of the annotator's. */
export function swallowClick(node: HTMLElement): void {
  const stop = (click: Event) => click.stopPropagation();
  node.addEventListener('click', stop, { capture: true, once: true });
  setTimeout(() => node.removeEventListener('click', stop, { capture: true }));
}
