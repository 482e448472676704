/** Words and figures for how people answered, and for where they differ. */
import type { AnsweredQuestion, Differences } from '../../api/types';

export type Item = Differences['items'][number];

export const PLACES = { before: 'before the grids', after: 'after the grids' } as const;

export function shareText(part: number, whole: number): string {
  return whole === 0 ? '' : `${Math.round((100 * part) / whole)} %`;
}

/** The two groups that are compared first: those with most people. */
export function largest(asked: AnsweredQuestion): [string, string] {
  const names = asked.groups
    .map((group, index) => ({ ...group, index }))
    .sort((a, b) => b.people - a.people || a.index - b.index)
    .map(({ name }) => name);
  return [names[0] ?? '', names[1] ?? ''];
}

/** Those that divide people: at least one group has somebody in it. */
export function comparable(questions: readonly AnsweredQuestion[]): AnsweredQuestion[] {
  return questions.filter(({ groups }) => groups.filter(({ people }) => people > 1).length > 0);
}

/** A p-value: as small as it says anything. */
export function pText(p: number): string {
  return p < 0.001 ? '< 0.001' : p.toFixed(3);
}

export function summaryText({ n_compared, n_different, is_complete }: Differences): string {
  if (n_compared === 0) return 'No two people on each side have seen the same images yet.';
  const compared = `${n_compared.toLocaleString('en')} compared`;
  const different = `${n_different.toLocaleString('en')} differ with q below 0.05`;
  const rest = is_complete ? '' : ' There are very many answers: the oldest were compared.';
  return `${compared}, ${different}.${rest}`;
}
