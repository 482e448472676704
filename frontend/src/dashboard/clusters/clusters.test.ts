import { expect, test } from 'vitest';
import { clusterName, silhouetteText, silhouetteWords } from './clusters';

test('a cluster is called by its name, its first word or its number', () => {
  const nameless = { index: 1, name: '', words: ['round', 'red'] };
  expect(clusterName({ ...nameless, name: 'Fruit' })).toBe('Fruit');
  expect(clusterName(nameless)).toBe('round');
  expect(clusterName({ ...nameless, words: [] })).toBe('cluster 2');
});

test('silhouettes are put in words', () => {
  expect([0.8, 0.6, 0.3, -0.2].map(silhouetteWords)).toEqual([
    'clearly separated',
    'separated',
    'weakly separated',
    'hardly separated',
  ]);
  expect(silhouetteText(-0.001)).toBe('0.00');
  expect(silhouetteText(0.456)).toBe('0.46');
});
