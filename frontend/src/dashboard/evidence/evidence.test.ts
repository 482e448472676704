import { expect, test } from 'vitest';
import { evidenceSentence, evidenceText } from './evidence';

test('evidence is counted, and its absence is said', () => {
  const some = { together: 3, apart: 1, annotators: 1 };
  expect(evidenceText(some)).toBe('3 together · 1 apart');
  expect(evidenceSentence(some)).toBe('In 4 answers from 1 annotator: 3 together, 1 apart.');
  const none = { together: 0, apart: 0, annotators: 0 };
  expect(evidenceText(none)).toBe('never shown together: inferred');
  expect(evidenceSentence(none)).toContain('No answer');
});

test('votes are said to be the same or different', () => {
  const some = { together: 3, apart: 1, annotators: 2 };
  expect(evidenceText(some, true)).toBe('3 same · 1 different');
  expect(evidenceSentence(some, true)).toBe('In 4 answers from 2 annotators: 3 same, 1 different.');
});
