/** Labels by votes in words and figures, whether they are yes or no, or classes. */
import type { LabelQuality } from '../../api/types';

export interface Filter<Tab extends string> {
  tab: Tab;
  /** Voted on, or not; null: either. */
  asked: boolean | null;
}

/** A part of the list, with the number of its images. */
export interface Part<Tab extends string> {
  tab: Tab;
  name: string;
  count: number;
}

/** What a tile of the list shows below its image. */
export interface Tile {
  label: string;
  /** The label's colour, if it has one. */
  colour?: string;
  sureness: number;
  /** Parts of a bar. */
  shares: readonly { share: number; colour: string }[];
  votes: string;
}

/** What is known of labels of either form. */
export type AnyQuality = Pick<
  LabelQuality,
  | 'version'
  | 'n_contested'
  | 'votes_per_image'
  | 'expected_right'
  | 'expected_balanced'
  | 'gain_of_next_grid'
  | 'enough'
>;

/** Ways of reading votes that use nothing but votes. */
export const METHODS = [
  ['majority', 'Majority'],
  ['dawid_skene', 'Dawid–Skene'],
  ['glad', 'GLAD'],
] as const;

const AT_ONCE = 48;

/** The query of a part of the list, without its order. */
export function partOf(asked: boolean | null, after: string | null) {
  return { limit: AT_ONCE, asked: asked ?? undefined, after: after ?? undefined };
}

/** The first `tiles`, then those of labels of either form. */
export function tilesOf(
  quality: AnyQuality,
  tiles: [string, string, string][],
  equally: string,
  [votes, ofWhat]: [string, string],
): [string, string, string][] {
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  return [
    ...tiles,
    [
      'Expected right',
      percent(quality.expected_right),
      `of all; ${percent(quality.expected_balanced)} if ${equally} count equally`,
    ],
    ['Contested', quality.n_contested.toLocaleString('en'), 'less than 90\u00a0% sure'],
    [votes, quality.votes_per_image.toFixed(1), ofWhat],
    ['Next grid', quality.gain_of_next_grid.toFixed(1), 'labels expected to be corrected'],
  ];
}

/** "97 %"; what is not certain is never shown as 0 or 100. */
export function likely(probability: number | null): string {
  if (probability === null) return '–';
  const whole = Math.round(100 * probability);
  if (whole === 100 && probability < 1) return '> 99 %';
  if (whole === 0 && probability > 0) return '< 1 %';
  return `${whole} %`;
}

/** "3 yes · 1 no · 1 unsure": what there are some of. */
export function countsText(counts: readonly (readonly [number, string])[]): string {
  const counted = counts.filter(([count]) => count > 0).map(([count, vote]) => `${count} ${vote}`);
  return counted.length > 0 ? counted.join(' · ') : 'no votes';
}

/** Why the campaign has ended, or what is to be expected of going on. */
export function outlook(
  { enough, gain_of_next_grid }: Pick<AnyQuality, 'enough' | 'gain_of_next_grid'>,
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

/** With fewer, nothing is said about an annotator. */
export const LEAST_VOTES = 20;

/** Those to look at first: who answers least well; those with too few votes last. */
export function concernsFirst<Voter extends { annotator: number; n_votes: number }>(
  voters: readonly Voter[],
  skill: (voter: Voter) => number,
): Voter[] {
  const few = ({ n_votes }: Voter) => Number(n_votes < LEAST_VOTES);
  return voters.toSorted(
    (a, b) => few(a) - few(b) || skill(a) - skill(b) || a.annotator - b.annotator,
  );
}
