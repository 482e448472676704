/**
 * Where a link sends its person back to. It names them, so it stays in this tab alone and goes when
 * that is closed.
 */
const keyOf = (place: string): string => `likewise:back:${place}`;
const memory = new Map<string, string>();

export function noteWayBack(place: string, address: string | null): string | null {
  memory.delete(place);
  if (address !== null) memory.set(place, address);
  try {
    if (address === null) sessionStorage.removeItem(keyOf(place));
    else sessionStorage.setItem(keyOf(place), address);
  } catch {
    // Storage may be refused in frames and private windows: it lasts as long as the page.
  }
  return address;
}

export function notedWayBack(place: string): string | null {
  const known = memory.get(place);
  if (known !== undefined) return known;
  try {
    return sessionStorage.getItem(keyOf(place));
  } catch {
    return null;
  }
}

/** Whether the browser brought the page back: who has just returned is not sent away again. */
export function hasReturned(): boolean {
  const [entry] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  return entry?.type === 'back_forward';
}
