import { expect, it } from 'vitest';
import { mergeWords } from './words';

it('offers the newest words first, each once whatever its capitals', () => {
  expect(mergeWords(['blue', 'Red'], ['', ' red ', 'round'])).toEqual(['red', 'round', 'blue']);
});
