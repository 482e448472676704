import { expect, test } from 'vitest';
import { leastFirst, shareText, weightWords } from './reliability';

test('shares are told with their interval where there is one', () => {
  expect(shareText(0.916, [0.88, 0.95])).toBe('92 % (88–95)');
  expect(shareText(0.5, null)).toBe('50 %');
});

test('weights are put in words', () => {
  const words = [-3, 0, 1, 4].map((weight) => weightWords({ weight, n_pairs: 9 }));
  expect(words).toEqual(['read as the opposite', 'does not count', 'counts little', 'counts']);
  expect(weightWords({ weight: 4, n_pairs: 0 })).toBe('nothing known');
});

test('those who count least come first', () => {
  const one = {
    n_answers: 1,
    n_pairs: 1,
    sensitivity: 0.9,
    sensitivity_interval: null,
    specificity: 0.9,
    specificity_interval: null,
  };
  const found = leastFirst([
    { ...one, annotator: 0, weight: 4 },
    { ...one, annotator: 1, weight: -1 },
  ]);
  expect(found.map(({ annotator }) => annotator)).toEqual([1, 0]);
});
