/** Tabs may not fit next to each other: the chosen one is scrolled to, without moving the page. */
export function showChosenTab(tabs: Element | null): void {
  const chosen = tabs?.querySelector('[aria-current]');
  if (!tabs || !chosen) return;
  const [bar, tab] = [tabs.getBoundingClientRect(), chosen.getBoundingClientRect()];
  tabs.scrollLeft += tab.left + tab.width / 2 - (bar.left + bar.width / 2);
}
