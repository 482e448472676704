/** What a model says of attributes and annotators, in words. */
import type { Attribute, Insight, Round } from '../api/types';
import { OTHERS, PALETTE } from '../lib/palette';

type Named = Pick<Attribute, 'index' | 'low' | 'high'> &
  Partial<Pick<Attribute, 'name' | 'overall' | 'clusters'>>;

/** How many clusters of an unordered attribute its name lists. */
const NAMED_CLUSTERS = 3;

/** The requester's name, the annotators' words for its clusters or for its two sides, or its
 * number. */
export function attributeName({ index, name, low, high, overall, clusters = [] }: Named): string {
  if (name) return name;
  if (overall) return 'overall similarity';
  const words = [...new Set(clusters.flatMap((cluster) => cluster.words.slice(0, 1)))];
  if (words.length > 1) {
    const more = words.length > NAMED_CLUSTERS ? ', …' : '';
    return words.slice(0, NAMED_CLUSTERS).join(', ') + more;
  }
  const sides = [low[0], high[0]].filter((word) => word !== undefined);
  return sides.length > 0 ? sides.join(' – ') : `attribute ${index}`;
}

/** The same attribute has the same colour in every card. */
export function attributeColour(index: number): string {
  return PALETTE[index] ?? OTHERS;
}

export function percent(share: number | null): string {
  return share === null ? '–' : `${Math.round(share * 100)} %`;
}

/**
 * "46 % ± 3 %", "99.6 % ± 0.1 %"; without the error where it is not known. Where the error reaches
 * past 0 or 100 %, only the other end is given: "at least 96 %".
 */
export function shareText(share: number | null, error: number | null | undefined): string {
  if (share === null || error == null) return percent(share);
  const digits = error < 0.01 ? 1 : 0;
  const around = Math.max(error, 0.001);
  const shown = (value: number) => `${(100 * value).toFixed(digits)} %`;
  if (share + around > 1) return `at least ${shown(Math.max(share - around, 0))}`;
  if (share - around < 0) return `at most ${shown(share + around)}`;
  return `${shown(share)} ± ${shown(around)}`;
}

/** Above this a probability is not told from certainty. */
const NEARLY_CERTAIN = 0.999;

/** How sure it is that an attribute is real; empty for a model that does not know. */
export function confidenceText(confidence: number | null | undefined): string {
  if (confidence == null) return '';
  const certain = confidence > NEARLY_CERTAIN;
  const shown = certain ? '> 99.9 %' : `${(Math.floor(confidence * 1000) / 10).toFixed(1)} %`;
  return `predicts held-out answers: ${shown}`;
}

export type Finding = 'attributes' | 'pooled' | 'none' | 'unjudged' | 'undecided' | 'directions';

/**
 * What a model found out about its crowd: several attributes; one overall similarity; nothing that
 * predicts held-out answers; too few answers to judge; no attribute, by a model that does not
 * judge; or, null, a strategy that looks for none.
 */
export function findingOf(
  insight: Pick<Insight, 'structure' | 'held_out_answers' | 'attributes'> | null,
): Finding {
  if (insight === null) return 'directions';
  if (insight.structure === 'none') return insight.held_out_answers ? 'none' : 'unjudged';
  if (insight.attributes.length === 0) return 'undecided';
  return insight.structure === 'pooled' ? 'pooled' : 'attributes';
}

export function decimal(value: number | null, digits: number): string {
  return value === null ? '–' : value.toFixed(digits);
}

interface Spread {
  attribute: number;
  /** The most telling word of each side when the round was made. */
  low: string[];
  high: string[];
  grids: number;
  wanted: number;
  /** Null when no other attribute is in use. */
  others: number | null;
}

const PURPOSES: [string, string][] = [
  ['random', 'random'],
  ['attribute', 'about one attribute'],
  ['uncertain', 'of little-known images'],
  ['between', 'of two clusters that might be one'],
  ['covering', 'covering images and clusters'],
  ['local', 'of images that seem similar'],
  ['focus', 'of images similar to the chosen ones'],
  ['new', 'of images not placed yet'],
  ['earlier', 'from the previous model, prepared in advance'],
];

/** "12 random, 6 about one attribute, 4 of little-known images". */
export function roundContents(contents: Round['contents']): string {
  if (!contents) return '';
  return PURPOSES.flatMap(([purpose, words]) => {
    const count = contents[purpose];
    return typeof count === 'number' && count > 0 ? [`${count} ${words}`] : [];
  }).join(', ');
}

/** How far the grids about each attribute spread on it and on the others. */
export function roundSpread(contents: Round['contents']): string[] {
  const spread = (contents?.['spread'] ?? []) as Spread[];
  return spread.map(
    ({ attribute, low, high, grids, wanted, others }) =>
      `${grids} about ${attributeName({ index: attribute, low, high })}: spread ${wanted.toFixed(1)}× on it` +
      (others === null ? '' : `, ${others.toFixed(1)}× on others`),
  );
}

/** Text of a bar of shares: "82 % men – women, 18 % smiling – serious". */
export function preferenceText(
  preference: readonly (number | null)[],
  attributes: readonly Attribute[],
): string {
  return attributes
    .map((attribute) => ({ attribute, share: preference[attribute.index] ?? 0 }))
    .filter(({ share }) => share >= 0.005)
    .sort((one, other) => other.share - one.share)
    .map(({ attribute, share }) => `${percent(share)} ${attributeName(attribute)}`)
    .join(', ');
}

/** What features of images add to a model, as a sentence; empty for a model without them. */
export function featuresText({
  features,
  features_used: used,
  n_placed: placed,
}: Pick<Insight, 'features' | 'features_used' | 'n_placed'>): string {
  if (!features) return '';
  if (!used) {
    return `Features (${features}) were not used: they did not predict held-out images better.`;
  }
  const n = placed ?? 0;
  if (n === 0) return `Features (${features}) were used. All images are in answers.`;
  const images = n === 1 ? 'image' : 'images';
  const are = n === 1 ? 'is placed by its' : 'are placed by their';
  return `${n.toLocaleString('en')} ${images} nobody was asked about ${are} features (${features}).`;
}
