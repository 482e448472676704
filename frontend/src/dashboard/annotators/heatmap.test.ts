import { expect, test } from 'vitest';
import type { AnnotatorInsight } from '../../api/types';
import { knowsUsed, ordered, scaleEnd, share } from './heatmap';

const ATTRIBUTES = [{ index: 2 }, { index: 0 }];
const ROWS: Pick<AnnotatorInsight, 'annotator' | 'n_answers' | 'preference' | 'used'>[] = [
  { annotator: 0, n_answers: 3, preference: [0.9, 0, 0.1], used: [0.4, 0, 0.6] },
  { annotator: 1, n_answers: 9, preference: [0.2, 0, 0.8], used: [0.3, 0, 0.7] },
  { annotator: 2, n_answers: 5, preference: [0.6, 0, 0.4], used: [0.7, 0, null] },
  { annotator: 3, n_answers: 1, preference: [0.05, 0, 0.95], used: [] },
];
const who = (rows: typeof ROWS) => rows.map(({ annotator }) => annotator);

test('those who look at the same stand together, the strongest first', () => {
  expect(who(ordered(ROWS, ATTRIBUTES, 'similar'))).toEqual([3, 1, 0, 2]);
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

test('rows are ordered by what was used, where that is asked', () => {
  expect(who(ordered(ROWS, ATTRIBUTES, 0, 'used'))).toEqual([2, 0, 1, 3]);
  expect(who(ordered(ROWS, ATTRIBUTES, 'similar', 'used'))).toEqual([1, 0, 3, 2]);
  expect(scaleEnd(ROWS, ATTRIBUTES, 'used')).toBe(0.7);
  expect(share(ROWS[2]!, 2, 'used')).toBe(0);
});

test('models that do not say what was used are known by it', () => {
  expect(knowsUsed(ROWS)).toBe(true);
  expect(knowsUsed([{ used: [] }, { used: [null, null] }])).toBe(false);
});
