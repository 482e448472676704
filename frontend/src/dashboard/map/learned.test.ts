import { expect, it } from 'vitest';
import type { LearnedAttribute } from '../../api/types';
import { labelsOf, learnedName, suggestedAxes, withWords } from './learned';

const NONE = { name: '', overall: false, ordered: true, low: [], high: [], clusters: [] };
const SEX: LearnedAttribute = { ...NONE, index: 4, low: ['men'], high: ['women', 'female'] };
const SPECIES = { ...NONE, index: 1, ordered: false, clusters: [['owl'], ['gull']] };
const EYES: LearnedAttribute = { ...NONE, index: 0, name: 'eyes', low: ['shut'] };

it('an attribute has the name of the requester, of the annotators, or a number', () => {
  expect([SEX, SPECIES, EYES, { ...NONE, index: 7 }].map(learnedName)).toEqual([
    'men – women',
    'owl, gull',
    'eyes',
    'attribute 7',
  ]);
  expect(learnedName({ ...SEX, overall: true })).toBe('overall similarity');
});

it('the axes are the two ordered attributes that most answers are about', () => {
  expect(suggestedAxes([SPECIES, SEX, EYES])).toBe('axes-4-0');
  expect(suggestedAxes([SPECIES, SEX])).toBeNull();
});

it('every layout says what its axes show', () => {
  expect(labelsOf('axes-4-0', [SEX, EYES])).toEqual({
    across: { name: '', low: 'men', high: 'women' },
    up: { name: 'eyes', low: 'shut', high: '' },
  });
  expect(labelsOf('axes-9-0', []).across.name).toBe('attribute 9');
  expect(labelsOf('pca', []).up?.name).toBe('2nd principal axis');
  expect(labelsOf('tsne', [])).toMatchObject({ up: null });
});

it('a legend from low to high has the words of its ends', () => {
  const legend = ['0 – 50', '50 – 100'].map((label, slot) => ({ slot, label, count: 1 }));
  expect(withWords(legend, SEX).map(({ label }) => label)).toEqual([
    '0 – 50 men',
    '50 – 100 women',
  ]);
  expect(withWords(legend, SPECIES)).toBe(legend);
  expect(withWords(legend, undefined)).toBe(legend);
});
