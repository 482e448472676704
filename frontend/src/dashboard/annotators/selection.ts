/** Acting on several selected annotators: who is shown, what it costs, and who is left out. */
import type { SelectedPerson, SentMessage, Submission } from '../../api/types';
import { amount } from '../../lib/format';
import type { Work } from './work';

export type SelectedAction = 'approve' | 'message' | 'bonus';
/** As many as a request acts on: answers wait for it. */
export const MOST_AT_ONCE = 50;

export const FILTERS = [
  ['', 'Everyone'],
  ['waiting', 'Waiting for approval'],
  ['good', 'Agrees beyond chance'],
  ['suspect', 'Looks random or does not sort'],
  ['unknown', 'Too little data'],
] as const;
export type Filter = (typeof FILTERS)[number][0];

/** The numbers of those whose submitted work waits for approval. */
export function waitingFor(submissions: readonly Submission[]): Set<number> {
  return new Set(
    submissions.flatMap(({ annotator, flag }) =>
      annotator !== null && flag === 'awaits_review' ? [annotator] : [],
    ),
  );
}

export function filtered(
  work: readonly Work[],
  filter: Filter,
  waiting: ReadonlySet<number>,
): Work[] {
  return work.filter(({ score: { annotator, verdict } }) => {
    if (filter === 'waiting') return waiting.has(annotator);
    if (filter === 'suspect') return verdict === 'chance' || verdict === 'one_group';
    return filter === '' || verdict === filter;
  });
}

export function people(n: number): string {
  return n === 1 ? '1 person' : `${n} people`;
}

export const taking = (list: readonly SelectedPerson[]): SelectedPerson[] =>
  list.filter(({ why }) => why === '');

export const totalCents = (list: readonly SelectedPerson[]): number =>
  list.reduce((sum, { amount_cents, fee_cents }) => sum + amount_cents + fee_cents, 0);

/** "$2.40, of which $0.40 are fees", for each currency. */
export function costText(list: readonly SelectedPerson[]): string {
  const currencies = [...new Set(taking(list).map(({ currency }) => currency))];
  return currencies
    .map((currency) => {
      const own = taking(list).filter((person) => person.currency === currency);
      const fees = own.reduce((sum, { fee_cents }) => sum + fee_cents, 0);
      const total = amount(totalCents(own), currency);
      return fees > 0 ? `${total}, including ${amount(fees, currency)} in fees` : total;
    })
    .join(' and ');
}

/** Those who are left out, by reason. */
export function leftOut(list: readonly SelectedPerson[]): [string, number[]][] {
  const reasons = new Map<string, number[]>();
  for (const { why, annotator } of list) {
    if (why) reasons.set(why, [...(reasons.get(why) ?? []), annotator]);
  }
  return [...reasons];
}

export function chunks<Item>(items: readonly Item[], size = MOST_AT_ONCE): Item[][] {
  const n = Math.ceil(items.length / size);
  return Array.from({ length: n }, (_, k) => items.slice(k * size, (k + 1) * size));
}

export interface SentTogether {
  request: string;
  text: string;
  sender: string;
  at: string;
  sent: number;
  waiting: number;
  failed: SentMessage[];
}

/** Messages that were sent together, the newest first. */
export function sentTogether(messages: readonly SentMessage[]): SentTogether[] {
  const groups = new Map<string, SentTogether>();
  for (const message of messages) {
    const { request, text, sender, created_at: at } = message;
    const group = groups.get(request) ?? {
      ...{ request, text, sender, at, sent: 0, waiting: 0 },
      failed: [],
    };
    groups.set(request, group);
    if (message.state === 'done') group.sent += 1;
    else if (message.state === 'failed') group.failed.push(message);
    else group.waiting += 1;
  }
  return [...groups.values()];
}

/** "2 sent, 1 waiting for the platform" */
export function stateText({ sent, waiting }: SentTogether): string {
  return [
    ...(sent > 0 ? [`sent to ${people(sent)}`] : []),
    ...(waiting > 0 ? [`waiting for the platform: ${waiting}`] : []),
  ].join(', ');
}
