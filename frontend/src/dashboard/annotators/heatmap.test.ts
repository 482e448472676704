import { expect, test } from 'vitest';
import { ordered, scaleEnd } from './heatmap';

const ATTRIBUTES = [{ index: 2 }, { index: 0 }];
const ROWS = [
  { annotator: 0, n_answers: 3, preference: [0.9, 0, 0.1] },
  { annotator: 1, n_answers: 9, preference: [0.2, 0, 0.8] },
  { annotator: 2, n_answers: 5, preference: [0.6, 0, 0.4] },
  { annotator: 3, n_answers: 1, preference: [0.05, 0, 0.95] },
];
const who = (rows: typeof ROWS) => rows.map(({ annotator }) => annotator);

test('those who look at the same stand together, the strongest first', () => {
  expect(who(ordered(ROWS, ATTRIBUTES, 'alike'))).toEqual([3, 1, 0, 2]);
});

test('one column or the answers give the order', () => {
  expect(who(ordered(ROWS, ATTRIBUTES, 0))).toEqual([0, 2, 1, 3]);
  expect(who(ordered(ROWS, ATTRIBUTES, 'answers'))).toEqual([1, 2, 0, 3]);
  expect(who(ROWS)).toEqual([0, 1, 2, 3]);
});

test('the scale ends above the largest share', () => {
  expect(scaleEnd(ROWS, ATTRIBUTES)).toBe(1);
  expect(scaleEnd(ROWS.slice(1, 2), ATTRIBUTES)).toBe(0.8);
  expect(scaleEnd([], ATTRIBUTES)).toBe(0.1);
});
