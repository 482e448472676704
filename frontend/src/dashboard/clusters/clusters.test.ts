import { expect, test } from 'vitest';
import {
  carriedText,
  clusterNames,
  separationText,
  silhouetteText,
  silhouetteWords,
} from './clusters';

test('a cluster is called by its name, a word that names no other, or its number', () => {
  const cluster = (index: number, words: string[], name = '') => ({ index, words, name });
  expect(clusterNames([cluster(0, ['round']), cluster(1, [], 'Fruit'), cluster(2, [])])).toEqual([
    'round',
    'Fruit',
    'cluster 3',
  ]);
  const repeated = [
    cluster(0, ['round', 'red']),
    cluster(1, ['round', 'blue']),
    cluster(2, ['round']),
    cluster(3, ['striped'], 'red'),
  ];
  expect(clusterNames(repeated)).toEqual(['round', 'blue', 'cluster 3', 'red']);
});

test('clusters that a model is sure of are not called hardly separated', () => {
  expect(separationText(0.12, 'model')).toBe('silhouette 0.12');
  expect(separationText(0.12, 'ward')).toBe('hardly separated (silhouette 0.12)');
  expect(separationText(0.8, 'k-means', 'mean silhouette')).toBe(
    'clearly separated (mean silhouette 0.80)',
  );
});

test('names of an earlier model are said to be', () => {
  expect(carriedText([{ carried_from: null }])).toBe('');
  expect(carriedText([{ carried_from: 4 }, { carried_from: null }])).toMatch(
    /^1 name is carried over from model 4:/,
  );
  expect(carriedText([{ carried_from: 4 }, { carried_from: 4 }])).toMatch(
    /^2 names are carried over from model 4:/,
  );
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
