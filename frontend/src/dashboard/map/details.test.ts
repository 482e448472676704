import { expect, test } from 'vitest';
import { unlistedText } from './details';

test('a search says how many matches it does not list', () => {
  expect(unlistedText(20, 20)).toBe('');
  expect(unlistedText(20, 1204)).toBe(
    'The first 20 of 1,204 matches are listed. Type more of the name.',
  );
});
