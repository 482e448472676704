/** What a model tells of attributes and annotators, in words. */
import type { Attribute, Round } from '../api/types';
import { OTHERS, PALETTE } from './palette';

/** The annotators' words for the two sides, or the number of the dimension. */
export function attributeName({
  index,
  low,
  high,
}: Pick<Attribute, 'index' | 'low' | 'high'>): string {
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
  ['local', 'of images that seem alike'],
  ['focus', 'of the likes of chosen images'],
  ['new', 'of images not placed yet'],
  ['earlier', 'from the model before, begun meanwhile'],
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

/** Text of a preference bar: "82 % men – women, 18 % smiling – serious". */
export function preferenceText(preference: readonly number[], attributes: Attribute[]): string {
  return attributes
    .map((attribute) => ({ attribute, share: preference[attribute.index] ?? 0 }))
    .filter(({ share }) => share >= 0.005)
    .sort((one, other) => other.share - one.share)
    .map(({ attribute, share }) => `${percent(share)} ${attributeName(attribute)}`)
    .join(', ');
}
