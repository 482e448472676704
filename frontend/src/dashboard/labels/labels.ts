/** Labels by votes, in words and figures. */
import type { AnnotatorQuality, Label, LabelQuality } from '../../api/types';

export type Tab = 'ranked' | 'contested' | 'no';

export interface Filter {
  tab: Tab;
  /** Voted on, or not; null: either. */
  asked: boolean | null;
}

const AT_ONCE = 48;
const QUERIES = {
  ranked: { order: 'likeliest' },
  contested: { order: 'contested', contested: true },
  no: { order: 'unlikeliest', label: 'no' },
} as const;

/** The query of a part of the list. */
export function queryOf({ tab, asked }: Filter, after: string | null) {
  return {
    ...QUERIES[tab],
    limit: AT_ONCE,
    asked: asked ?? undefined,
    after: after ?? undefined,
  };
}

/** Tabs with what they show, and how many images that is. */
export function tabsOf(quality: LabelQuality): { tab: Tab; name: string; count: number }[] {
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

/** "97 %"; what is not certain is never told as 0 or 100. */
export function likely(probability: number | null): string {
  if (probability === null) return '–';
  const whole = Math.round(100 * probability);
  if (whole === 100 && probability < 1) return '> 99 %';
  if (whole === 0 && probability > 0) return '< 1 %';
  return `${whole} %`;
}

/** "3 yes · 1 no · 1 unsure". */
export function votesText({ yes, no, unsure }: Pick<Label, 'yes' | 'no' | 'unsure'>): string {
  const counts = [
    [yes, 'yes'],
    [no, 'no'],
    [unsure, 'unsure'],
  ] as const;
  const counted = counts.filter(([count]) => count > 0).map(([count, vote]) => `${count} ${vote}`);
  return counted.length > 0 ? counted.join(' · ') : 'no votes';
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

/** Why the campaign has ended, or what is to be expected of going on. */
export function outlook(
  { enough, gain_of_next_grid }: Pick<LabelQuality, 'enough' | 'gain_of_next_grid'>,
  state: string,
  newest: boolean,
): string {
  const gain = `${gain_of_next_grid.toFixed(1)} labels`;
  if (enough !== null) {
    const ended = newest && state === 'finished';
    return `${ended ? 'The campaign has ended automatically' : 'Good enough according to the settings'}: ${lowered(enough)}`;
  }
  if (!newest) return `When this model was made, the next grid was expected to correct ${gain}.`;
  if (state === 'finished') {
    return `The campaign has ended, but not because the labels are good enough. One more grid is expected to correct ${gain}.`;
  }
  return `The next grid is expected to correct ${gain}.`;
}

/** As a part of a sentence. */
function lowered(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}

export const LEAST_VOTES = 20;
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

/** Those to look at first: who seems to guess, then who votes least well. */
export function concernsFirst(voters: readonly AnnotatorQuality[]): AnnotatorQuality[] {
  const few = ({ n_votes }: AnnotatorQuality) => Number(n_votes < LEAST_VOTES);
  return voters.toSorted(
    (a, b) => few(a) - few(b) || beyondChance(a) - beyondChance(b) || a.annotator - b.annotator,
  );
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
