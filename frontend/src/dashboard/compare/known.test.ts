import { expect, it } from 'vitest';
import { columnAbout, matchText, rowName, scoreText, tint } from './known';

const ROW = {
  attribute: 2,
  overall: false,
  name: '',
  low: ['red'],
  high: ['blue'],
  clusters: [],
  cells: [],
};
const CATEGORIES = { score: 0.617, balanced_accuracy: 0.914, chance: 1 / 6 };
const NUMBERS = { score: 0.85, balanced_accuracy: null, chance: null };

it('names attributes by number and words, and the rest by what it is', () => {
  expect(rowName(ROW)).toBe('attribute 2: red – blue');
  expect(rowName({ ...ROW, low: [], high: [] })).toBe('attribute 2');
  expect(rowName({ ...ROW, name: 'colour' })).toBe('attribute 2: colour');
  expect(rowName({ ...ROW, overall: true })).toBe('overall similarity');
  expect(rowName({ ...ROW, attribute: null })).toBe('all dimensions together');
});

it('says what a column is and how well it agrees', () => {
  const column = { name: 'species', kind: 'categories' as const, n_values: 6, n_images: 90 };
  expect(columnAbout(column)).toBe('6 values, 90 images');
  expect(columnAbout({ ...column, kind: 'numbers' })).toBe('numbers, 90 images');
  expect(columnAbout({ ...column, kind: null })).toBe('cannot be compared');
  expect([scoreText(CATEGORIES), scoreText(NUMBERS)]).toEqual(['AMI 0.62', 'r 0.85']);
  expect(scoreText({ ...CATEGORIES, score: -0.001 })).toBe('AMI 0.00');
  expect(matchText(CATEGORIES)).toBe('91 % matched (chance 17 %)');
  expect(matchText(NUMBERS)).toBe('');
  expect([tint(CATEGORIES), tint({ ...NUMBERS, score: -0.2 })]).toEqual([28, 0]);
});
