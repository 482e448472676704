/** How far a model trusts annotators, in words and lengths. */
import type { Reliability } from '../../api/types';

/** "92 % (88–95)". */
export function shareText(value: number, interval: [number, number] | null): string {
  const whole = (share: number) => Math.round(100 * share);
  const text = `${whole(value)} %`;
  return interval === null ? text : `${text} (${whole(interval[0])}–${whole(interval[1])})`;
}

/** What the weight says; with wide intervals nothing is certain yet. */
export function weightWords({ weight, n_pairs }: Pick<Reliability, 'weight' | 'n_pairs'>): string {
  if (n_pairs === 0) return 'nothing known';
  if (weight < -0.5) return 'read as the opposite';
  if (weight < 0.5) return 'does not count';
  if (weight < 2) return 'counts little';
  return 'counts';
}

/** Those who count least first. */
export function leastFirst(annotators: readonly Reliability[]): Reliability[] {
  return annotators.toSorted((a, b) => a.weight - b.weight || a.annotator - b.annotator);
}
