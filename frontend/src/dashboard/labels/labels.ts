/** Labels by votes, in words and figures. */
import type { AnnotatorQuality, Label, LabelQuality } from '../../api/types';
import { countsText, type Filter, LEAST_VOTES, type Part, partOf } from '../labelled/labelled';

export type Tab = 'ranked' | 'contested' | 'no';

const QUERIES = {
  ranked: { order: 'likeliest' },
  contested: { order: 'contested', contested: true },
  no: { order: 'unlikeliest', label: 'no' },
} as const;

/** The query of a part of the list. */
export function queryOf({ tab, asked }: Filter<Tab>, after: string | null) {
  return { ...QUERIES[tab], ...partOf(asked, after) };
}

/** Parts of the list, and how many images they have. */
export function partsOf(quality: LabelQuality): Part<Tab>[] {
  return [
    { tab: 'ranked', name: 'Ranked', count: quality.n_images },
    { tab: 'contested', name: 'Contested', count: quality.n_contested },
    { tab: 'no', name: 'No', count: quality.n_images - quality.n_yes },
  ];
}

export const TAB_WORDS: Record<Tab, string> = {
  ranked: 'All images, the surest yes first.',
  contested: 'Images whose label is less than 90 % sure, the least sure first.',
  no: 'Images labelled no, the surest no first.',
};

/** How likely the label is that an image has. */
export function sureness({ label, probability }: Pick<Label, 'label' | 'probability'>): number {
  return label === 'yes' ? probability : 1 - probability;
}

/** "3 yes · 1 no · 1 unsure". */
export function votesText({ yes, no, unsure }: Pick<Label, 'yes' | 'no' | 'unsure'>): string {
  return countsText([
    [yes, 'yes'],
    [no, 'no'],
    [unsure, 'unsure'],
  ]);
}

/** What each way of reading says of an image: the probability of yes. */
export function readings(one: Label): { name: string; about: string; yes: number | null }[] {
  return [
    { name: 'Votes and classifier', about: 'decides the label', yes: one.probability },
    { name: 'Classifier', about: 'from the image alone, without its votes', yes: one.prior },
    { name: 'Majority', about: 'share of yes among its votes', yes: one.majority },
    {
      name: 'Dawid–Skene',
      about: 'votes, weighted by how well each person votes',
      yes: one.dawid_skene,
    },
    { name: 'GLAD', about: 'votes, weighted by person and difficulty of the image', yes: one.glad },
  ];
}

const GUESSING = 0.3;

/** How much better than chance somebody votes: 1 never errs, 0 guesses (Youden 1950). */
export function beyondChance(one: Pick<AnnotatorQuality, 'sensitivity' | 'specificity'>): number {
  return one.sensitivity + one.specificity - 1;
}

/** What the figures of an annotator say; empty where there is nothing to look at. */
export function qualityWords(
  one: Pick<AnnotatorQuality, 'n_votes' | 'sensitivity' | 'specificity'>,
): string {
  if (one.n_votes < LEAST_VOTES) return 'too few votes to say';
  const skill = beyondChance(one);
  if (skill <= -GUESSING) return 'votes the opposite';
  return skill < GUESSING ? 'looks like guessing' : '';
}

/** What known answers there are, and whether they are enough. */
export function goldSentence({ n_yes, n_no, labels }: LabelQuality['gold']): string {
  if (n_yes + n_no === 0) {
    return 'No image has a known answer. How often the labels are right is only an estimate by the model.';
  }
  const known = `The right answer is known for ${n_yes + n_no} images: ${n_yes} yes, ${n_no} no.`;
  return labels === null
    ? `${known} That is too few to measure how good the labels are. At least two of each are needed.`
    : `${known} Results of the labels and of the classifier alone on these images:`;
}
