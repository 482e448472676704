/** Everything known of annotators, in one row each. */
import type { AnnotatorInsight, AnnotatorScore, Insight } from '../../api/types';
import { knowsUsed } from './heatmap';
import { byConcern } from './quality';

export interface Work {
  score: AnnotatorScore;
  /** What the shown model tells; null for one that tells nothing of them. */
  estimates: AnnotatorInsight | null;
}

export interface Column {
  id: string;
  name: string;
  about: string;
  /** What to sort by, the largest first; null goes last. */
  value: (work: Work) => number | null;
}

export const COLUMNS: readonly Column[] = [
  {
    id: 'answers',
    name: 'Grids',
    about: 'Finished grids, including quality checks.',
    value: ({ score }) => score.n_answers,
  },
  {
    id: 'groups',
    name: 'Groups',
    about: 'Mean number of groups: few means coarse distinctions, many means fine ones.',
    value: ({ estimates }) => estimates?.n_groups ?? null,
  },
  {
    id: 'detail',
    name: 'Fine',
    about:
      'Level of detail: share of answers that group finely where a coarser grouping is possible.',
    value: ({ estimates }) => estimates?.detail ?? null,
  },
  {
    id: 'agreement',
    name: 'Model',
    about:
      'Agreement with the model once it is known which attribute an answer is about: 1 is complete, 0 is chance (Cohen’s kappa).',
    value: ({ estimates }) => estimates?.agreement ?? null,
  },
  {
    id: 'consensus',
    name: 'Others',
    about:
      'Agreement with others on the same grids (adjusted Rand index; Cohen’s kappa for votes), and the number of grids.',
    value: ({ score }) => score.consensus?.mean ?? null,
  },
  {
    id: 'gold',
    name: 'Gold',
    about: 'Agreement with known answers.',
    value: ({ score }) => score.gold?.mean ?? null,
  },
  {
    id: 'repeat',
    name: 'Repeats',
    about: 'Agreement with their own earlier answers.',
    value: ({ score }) => score.repeat?.mean ?? null,
  },
  {
    id: 'consistency',
    name: 'Consistent',
    about: 'Agreement with themselves on pairs of images that they judged more than once (kappa).',
    value: ({ estimates }) => estimates?.consistency ?? null,
  },
  {
    id: 'careless',
    name: 'Careless',
    about: 'Share of answers that are about none of the attributes.',
    value: ({ estimates }) => estimates?.carelessness ?? null,
  },
  {
    id: 'seconds',
    name: 'Seconds',
    about: 'Median time per grid. Hasty is less than a quarter of the usual time.',
    value: ({ score }) => score.seconds,
  },
  {
    id: 'one_group',
    name: 'One group',
    about: 'Answers with nearly all images in one group, or in none.',
    value: ({ score }) => score.n_one_group,
  },
];

const OF_VOTES: Record<string, Pick<Column, 'name' | 'about'>> = {
  one_group: { name: 'All the same', about: 'Answers with the same vote on nearly all images.' },
};
const OF_GROUPS = ['groups', 'detail', 'agreement', 'consistency', 'careless'];

/** The columns of a campaign's work; votes have no groups, fine or coarse. */
export function columnsOf(votes: boolean): readonly Column[] {
  if (!votes) return COLUMNS;
  return COLUMNS.filter(({ id }) => !OF_GROUPS.includes(id)).map((column) => ({
    ...column,
    ...OF_VOTES[column.id],
  }));
}

export interface Bar {
  name: string;
  about: string;
  /** By number of the attribute. */
  shares: (insight: AnnotatorInsight) => readonly (number | null)[];
}

const PREFERS: Bar = {
  name: 'Prefers',
  about: 'How often the model expects each attribute to decide in an ordinary grid.',
  shares: ({ preference }) => preference,
};
const USED: Bar = {
  name: 'Used',
  about: 'Share of answers that used each attribute, judging by their groups.',
  shares: ({ used }) => used,
};

/** What is shown of annotators and attributes. */
export function barsOf(insight: Pick<Insight, 'attributes' | 'annotators'> | null): Bar[] {
  if (!insight || insight.attributes.length === 0) return [];
  return knowsUsed(insight.annotators) ? [PREFERS, USED] : [PREFERS];
}

export function joined(
  scores: readonly AnnotatorScore[],
  estimates: readonly AnnotatorInsight[],
): Work[] {
  const known = new Map(estimates.map((one) => [one.annotator, one]));
  return scores.map((score) => ({ score, estimates: known.get(score.annotator) ?? null }));
}

/** By a column, the largest first; without one those to look at first. */
export function sortedWork(work: readonly Work[], column: Column | undefined): Work[] {
  if (!column) {
    const rank = new Map(byConcern(work.map(({ score }) => score)).map((score, k) => [score, k]));
    return work.toSorted((a, b) => (rank.get(a.score) ?? 0) - (rank.get(b.score) ?? 0));
  }
  const value = (one: Work) => column.value(one) ?? -Infinity;
  return work.toSorted((a, b) => (value(a) === value(b) ? 0 : value(b) - value(a)));
}

/** The annotator whose work an address's end (`#play-7`) asks to see. */
export function playedFrom(hash: string): number | null {
  const found = /^#play-(\d+)$/.exec(hash);
  return found ? Number(found[1]) : null;
}

export function linkToPlay(campaignId: string, annotator: number): string {
  return `/campaigns/${campaignId}/annotators#play-${annotator}`;
}
