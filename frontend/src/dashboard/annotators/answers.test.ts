import { expect, it } from 'vitest';
import type { AnsweredQuestion } from '../../api/types';
import { comparable, largest, pText, shareText, summaryText } from './answers';

const group = (name: string, people: number) => ({
  name,
  people,
  n_answers: 0,
  consensus: null,
  gold: null,
  at_chance: 0,
});
const asked: AnsweredQuestion = {
  key: 'pets',
  place: 'before',
  type: 'choice',
  title: 'Pets?',
  n_answered: 9,
  n_screened_out: 0,
  groups: [group('cat', 2), group('dog', 5), group('eel', 2)],
};

it('the largest groups are compared first', () => {
  expect(largest(asked)).toEqual(['dog', 'cat']);
  expect(largest({ ...asked, groups: [] })).toEqual(['', '']);
  expect(comparable([asked, { ...asked, groups: [] }])).toEqual([asked]);
});

it('figures are as exact as they say anything', () => {
  expect(pText(0.0004)).toBe('< 0.001');
  expect(pText(0.0284)).toBe('0.028');
  expect(shareText(1, 3)).toBe('33 %');
  expect(shareText(0, 0)).toBe('');
});

it('a summary says what was compared', () => {
  const found = { n_compared: 1200, n_different: 3, items: [], is_complete: true };
  expect(summaryText(found)).toBe('1,200 compared, 3 differ with q below 0.05.');
  expect(summaryText({ ...found, is_complete: false })).toContain('the oldest were compared');
  expect(summaryText({ ...found, n_compared: 0 })).toContain('No two people');
});
