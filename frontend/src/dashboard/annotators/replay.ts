/** An answer played back: the groups at any moment, from its trace (docs/annotator-api.md). */

export type TraceEvent = [number, string, ...number[]];

const LEFT = -1;

/** Group of each image (by index in the grid) at a time in milliseconds. */
export function groupsAt(
  trace: readonly TraceEvent[],
  count: number,
  milliseconds: number,
): number[] {
  let groups: number[] = Array.from({ length: count }, () => LEFT);
  const past: number[][] = [];
  const future: number[][] = [];
  const change = (next: number[]): void => {
    past.push(groups);
    future.length = 0;
    groups = next;
  };
  for (const [at, what, ...rest] of trace) {
    if (at > milliseconds) break;
    if (what === 'p') {
      const [group = LEFT, ...images] = rest;
      change(groups.map((old, k) => (images.includes(k) ? group : old)));
    } else if (what === 'c') change(groups.map(() => LEFT));
    else if (what === 's') change(rest);
    else if (what === 'u') step(past, future);
    else if (what === 'r') step(future, past);
  }
  return groups;

  function step(from: number[][], to: number[][]): void {
    const next = from.pop();
    if (next === undefined) return;
    to.push(groups);
    groups = next;
  }
}

const SYMBOLS = ['✓', '✕', '?'];

/** What a group is called, after a comma; votes have the names `choices`, and a symbol, and some
 * kinds have `names` for their groups. */
export function placeText(
  group: number,
  choices: readonly string[],
  names: readonly string[] = [],
): string {
  if (choices.length > 0) return `, ${choices[group] ?? 'not ticked'}`;
  return group < 0 ? '' : `, ${names[group] ?? `group ${group + 1}`}`;
}

export function symbolOf(group: number, choices: readonly string[]): string {
  return choices.length > 0 ? (SYMBOLS[group] ?? '') : '';
}

/** What a group is called where annotators chose from classes; `several`: groups are masks. */
export function classText(group: number, classes: readonly string[], several: boolean): string {
  if (!several) return classes[group] ?? 'no class';
  const on = classes.filter((_, k) => group > 0 && (group >> k) & 1);
  return on.length > 0 ? on.join('; ') : 'no label';
}

/** "7 yes, 16 no, 1 unsure"; what was not ticked was sent as no. */
export function votesText(groups: readonly number[], choices: readonly string[]): string {
  return choices
    .map((name, vote) => `${groups.filter((group) => group === vote).length} ${name}`)
    .join(', ');
}

const NARROW = 576;
const COLUMNS_WHEN_NARROW = 4;

interface Seen {
  columns: number;
  device: unknown;
}

/** In how many columns the annotator saw the images; narrow windows have fewer (GridLayout). */
export function columnsSeen({ columns, device }: Seen): number {
  const { width } = (device ?? {}) as { width?: number };
  const isNarrow = width !== undefined && width < NARROW;
  return isNarrow ? Math.min(columns, COLUMNS_WHEN_NARROW) : columns;
}

/** The number that a group bears on the annotator's page; none where groups are choices. */
export function numberText(group: number, colours: readonly (number | null)[]): string {
  return group >= 0 && colours[group] != null ? String(group + 1) : '';
}

export function duration(trace: readonly TraceEvent[], elapsed: number | null): number {
  return Math.max(elapsed ?? 0, trace.at(-1)?.[0] ?? 0);
}
