import { expect, test } from 'vitest';
import { divisionId, testText, typesText } from './types';

const none = { n_types: null, p: null, sizes: [], unclear: 0, n_answers: 0, divisions: [] };

test('types are counted, with their p and the people who are unclear', () => {
  const types = { ...none, n_types: 2, p: 0.001, sizes: [16, 14], unclear: 3, n_answers: 330 };
  expect(typesText(types)).toBe('Types found: 2 (p = 0.001): 16 and 14 people, 3 unclear.');
});

test('one type is no type', () => {
  expect(typesText({ ...none, n_types: 1, p: 0.4, sizes: [30], n_answers: 1300 })).toBe(
    'No types: these people see the images in the same way, as far as 1,300 answers can tell (p = 0.400).',
  );
  expect(typesText({ ...none, n_types: 1, p: 0.001 })).toContain('No clear types');
});

test('too few people are not one type', () => {
  expect(typesText(none)).toContain('Nothing is known about types in this model');
  expect(typesText(none)).not.toContain('No types');
});

test('divisions have ids, and tests have sentences', () => {
  expect(divisionId({ by: 'question', key: 'taste' })).toBe('question:taste');
  expect(testText('type', null)).toContain('too small');
  expect(testText('link', null)).toContain('too few people');
  expect(testText('link', 0.0005)).toContain('p < 0.001');
});
