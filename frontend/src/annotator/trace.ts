/**
 * What was done when, as short arrays `[milliseconds, letter, …]` (docs/annotator-api.md). Images
 * are named by their index in the grid.
 */

/** 0: the question was shown; 1: they look again; 2: they send the answer as it is. */
export type QuickChoice = 0 | 1 | 2;

export type TraceEvent =
  /** Put images in a group, or take them out (−1): group, then the images. */
  | [number, 'p', number, ...number[]]
  /** Undo, redo, cleared all, opened (again), hidden, visible again. */
  | [number, 'u' | 'r' | 'c' | 'o' | 'h' | 'v']
  /** Began to describe a group; looked at an image in large; reported one as broken. */
  | [number, 'd' | 'z' | 'b', number]
  /** Was asked whether they looked at every picture, before a quick answer. */
  | [number, 'q', QuickChoice]
  /** Took over what another window made: the groups of all images. */
  | [number, 's', ...number[]];

export const LONGEST_TRACE = 5000;

export type Untimed = TraceEvent extends infer One
  ? One extends [number, ...infer Rest]
    ? Rest
    : never
  : never;

export class Trace {
  readonly events: TraceEvent[];

  constructor(earlier: readonly TraceEvent[] = []) {
    this.events = [...earlier];
  }

  add(milliseconds: number, ...event: Untimed): void {
    // A description is typed letter by letter, but begun once.
    const last = this.events.at(-1);
    if (event[0] === 'd' && last?.[1] === 'd' && last[2] === event[1]) return;
    if (this.events.length < LONGEST_TRACE) {
      this.events.push([milliseconds, ...event] as unknown as TraceEvent);
    }
  }
}
