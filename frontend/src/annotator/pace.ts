/** Times as people say them. */

/** From so many minutes on, five more or less make no difference. */
const LONG = 20;

/** The middle one: a break during one set says nothing about the others. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? 0;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? upper) + upper) / 2 : upper;
}

/** Whole minutes, in fives where they are many; 0: less than one. */
export function kindMinutes(seconds: number): number {
  const minutes = seconds / 60;
  if (minutes < 0.75) return 0;
  return minutes < LONG ? Math.round(minutes) : 5 * Math.round(minutes / 5);
}
