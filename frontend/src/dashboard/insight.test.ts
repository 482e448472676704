import { describe, expect, test } from 'vitest';
import type { Attribute } from '../api/types';
import {
  attributeName,
  decimal,
  percent,
  preferenceText,
  roundContents,
  roundSpread,
} from './insight';

function anAttribute(index: number, low: string[], high: string[]): Attribute {
  return { index, share: 0.5, low, middle: [], high, low_images: [], high_images: [] };
}

const SEX = anAttribute(0, ['men', 'guys'], ['women']);
const MOOD = anAttribute(3, [], ['smiling']);

describe('attributes', () => {
  test('are called by the most telling word of each side', () => {
    expect(attributeName(SEX)).toBe('men – women');
    expect(attributeName(MOOD)).toBe('smiling');
    expect(attributeName(anAttribute(2, [], []))).toBe('attribute 2');
  });

  test('preferences are read out, the strongest first, without crumbs', () => {
    const preference = [0.2, 0, 0.003, 0.797];
    expect(preferenceText(preference, [SEX, MOOD])).toBe('80 % smiling, 20 % men – women');
  });
});

describe('numbers', () => {
  test('that are not there are a dash', () => {
    expect(percent(null)).toBe('–');
    expect(decimal(null, 1)).toBe('–');
    expect(percent(0.456)).toBe('46 %');
    expect(decimal(2.345, 1)).toBe('2.3');
  });
});

describe('rounds', () => {
  test('say what their grids are for', () => {
    expect(roundContents({ random: 12, attribute: 6, uncertain: 4, focus: null })).toBe(
      '12 random, 6 about one attribute, 4 of little-known images',
    );
    expect(roundContents({ local: 7 })).toBe('7 of images that seem alike');
    expect(roundContents(null)).toBe('');
  });

  test('say how far grids about an attribute spread', () => {
    const words = { low: ['men'], high: ['women'] };
    const spread = [{ attribute: 1, ...words, grids: 6, wanted: 1.74, others: 0.61 }];
    expect(roundSpread({ attribute: 6, spread })).toEqual([
      '6 about men – women: spread 1.7× on it, 0.6× on others',
    ]);
    const nameless = { low: [], high: [] };
    const alone = [{ attribute: 0, ...nameless, grids: 2, wanted: 1.1, others: null }];
    expect(roundSpread({ spread: alone })).toEqual(['2 about attribute 0: spread 1.1× on it']);
    expect(roundSpread(null)).toEqual([]);
  });
});
