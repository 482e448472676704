import { describe, expect, test } from 'vitest';
import type { Attribute } from '../api/types';
import {
  attributeName,
  confidenceText,
  decimal,
  featuresText,
  findingOf,
  percent,
  preferenceText,
  roundContents,
  roundSpread,
  shareText,
} from './insight';

function anAttribute(index: number, low: string[], high: string[]): Attribute {
  return {
    index,
    name: '',
    share: 0.5,
    overall: false,
    ordered: true,
    columns: [index],
    low,
    middle: [],
    high,
    low_images: [],
    high_images: [],
    clusters: [],
    example: [],
    parts: [],
  };
}

function clustersOf(...words: string[][]): Attribute['clusters'] {
  return words.map((clusterWords) => ({
    size: 3,
    silhouette: 0.5,
    words: clusterWords,
    images: [],
  }));
}

const SEX = anAttribute(0, ['men', 'guys'], ['women']);
const MOOD = anAttribute(3, [], ['smiling']);

describe('attributes', () => {
  test('are called by the most telling word of each side', () => {
    expect(attributeName(SEX)).toBe('men – women');
    expect(attributeName(MOOD)).toBe('smiling');
    expect(attributeName({ ...MOOD, name: 'mood' })).toBe('mood');
    expect(attributeName({ ...MOOD, name: 'mood', overall: true })).toBe('mood');
    expect(attributeName(anAttribute(2, [], []))).toBe('attribute 2');
  });

  test('without an order are called by the words of their clusters', () => {
    const clusters = clustersOf(['owl', 'round'], [], ['gull'], ['hawk'], ['duck']);
    expect(attributeName({ ...SEX, clusters })).toBe('owl, gull, hawk, …');
    expect(attributeName({ ...SEX, clusters: clustersOf(['owl'], []) })).toBe('men – women');
    expect(attributeName({ ...SEX, clusters, overall: true })).toBe('overall similarity');
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
    expect(shareText(0.456, 0.031)).toBe('46 % ± 3 %');
    expect(shareText(0.9964, 0.00003)).toBe('99.6 % ± 0.1 %');
    expect(shareText(0.99, 0.03)).toBe('at least 96 %');
    expect(shareText(1, 0.00003)).toBe('at least 99.9 %');
    expect(shareText(0.004, 0.02)).toBe('at most 2 %');
    expect(shareText(0.456, null)).toBe('46 %');
    expect(shareText(null, undefined)).toBe('–');
    expect(decimal(2.345, 1)).toBe('2.3');
  });
});

describe('what a model found', () => {
  test('is as sure as held-out answers make it, and never more', () => {
    expect(confidenceText(0.9876)).toBe('predicts held-out answers: 98.7 %');
    expect(confidenceText(0.99899)).toBe('predicts held-out answers: 99.8 %');
    expect(confidenceText(1)).toBe('predicts held-out answers: > 99.9 %');
    expect(confidenceText(null)).toBe('');
  });

  test('is attributes, one overall similarity, or nothing', () => {
    const found = (structure: 'attributes' | 'pooled' | 'none' | null, n: number, held = 90) =>
      findingOf({ structure, held_out_answers: held, attributes: Array(n).fill(SEX) });
    expect(found('attributes', 2)).toBe('attributes');
    expect(found('pooled', 1)).toBe('pooled');
    expect(found('none', 0)).toBe('none');
    expect(found('none', 0, 0)).toBe('unjudged');
    expect(found(null, 2)).toBe('attributes');
    expect(found(null, 0)).toBe('undecided');
    expect(findingOf(null)).toBe('directions');
  });
});

describe('rounds', () => {
  test('say what their grids are for', () => {
    expect(roundContents({ random: 12, attribute: 6, uncertain: 4, focus: null })).toBe(
      '12 random, 6 about one attribute, 4 of little-known images',
    );
    expect(roundContents({ local: 7 })).toBe('7 of images that seem similar');
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

test('what features add is one sentence, or nothing', () => {
  const used = { features: 'objects', features_used: true };
  expect(featuresText({ ...used, n_placed: 1234 })).toBe(
    '1,234 images nobody was asked about are placed by their features (objects).',
  );
  expect(featuresText({ ...used, n_placed: 1 })).toBe(
    '1 image nobody was asked about is placed by its features (objects).',
  );
  expect(featuresText({ ...used, n_placed: 0 })).toBe(
    'Features (objects) were used. All images are in answers.',
  );
  expect(featuresText({ features: 'objects', features_used: false, n_placed: 0 })).toBe(
    'Features (objects) were not used: they did not predict held-out images better.',
  );
  expect(featuresText({ features: null })).toBe('');
  expect(featuresText({})).toBe('');
});
