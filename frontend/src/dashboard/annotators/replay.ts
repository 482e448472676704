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

/** What a group is called, after a comma; votes have the names `choices`, and a symbol. */
export function placeText(group: number, choices: readonly string[]): string {
  if (choices.length > 0) return `, ${choices[group] ?? 'not ticked'}`;
  return group < 0 ? '' : `, group ${group + 1}`;
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

export function duration(trace: readonly TraceEvent[], elapsed: number | null): number {
  return Math.max(elapsed ?? 0, trace.at(-1)?.[0] ?? 0);
}
