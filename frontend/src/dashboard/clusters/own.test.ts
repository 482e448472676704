import { expect, test } from 'vitest';
import { queryOf } from './own.svelte';

test('a list is asked for in parts, by what was chosen', () => {
  const all = { order: 'uncertain', cluster: null, asked: null } as const;
  expect(queryOf(all, null)).toEqual({ order: 'uncertain', limit: 60 });
  expect(queryOf({ ...all, cluster: 0, asked: false }, 'x=')).toEqual({
    order: 'uncertain',
    limit: 60,
    cluster: 0,
    asked: false,
    after: 'x=',
  });
});
