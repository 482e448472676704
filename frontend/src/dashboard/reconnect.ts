/** When to try again after the event stream was refused. */

const FIRST = 1_000;
const LONGEST = 30_000;

/** Milliseconds: doubled with every failure up to half a minute, spread out by `chance` in 0..1. */
export function reconnectDelay(failures: number, chance: number): number {
  const delay = Math.min(LONGEST, FIRST * 2 ** Math.min(failures, 10));
  return delay * (0.5 + chance / 2);
}
