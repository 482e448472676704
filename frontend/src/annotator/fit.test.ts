import { expect, it } from 'vitest';
import { fit } from './fit';

it('makes squares as large as the box allows', () => {
  expect(fit(400, 400, 4, 0, 999)).toEqual({ columns: 2, size: 200 });
  expect(fit(400, 100, 4, 0, 999)).toEqual({ columns: 4, size: 100 });
  expect(fit(515, 600, 17, 6, 999)).toEqual({ columns: 4, size: 115 });
});

it('stops at the largest size, and then fills the rows', () => {
  expect(fit(400, 400, 3, 0, 100)).toEqual({ columns: 3, size: 100 });
});

it('bears a box without room', () => {
  expect(fit(0, 0, 20, 4, 128).size).toBeLessThanOrEqual(0);
});
