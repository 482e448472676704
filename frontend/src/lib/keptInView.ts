/** Svelte attachment: an element is scrolled to, and again as long as the page around it is loading. */

const SETTLED_MS = 5000;
const OWN_WAY = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const;

/** Content that is loaded above would push it away. It ends when somebody scrolls, clicks or types. */
export function keptInView(element: Element): () => void {
  const scroll = (): void => element.scrollIntoView({ block: 'start', behavior: 'instant' });
  const sizes = new ResizeObserver(scroll);
  const timer = setTimeout(end, SETTLED_MS);

  function end(): void {
    clearTimeout(timer);
    sizes.disconnect();
    for (const event of OWN_WAY) removeEventListener(event, end, true);
  }

  scroll();
  sizes.observe(document.body);
  for (const event of OWN_WAY) addEventListener(event, end, { capture: true, passive: true });
  return end;
}
