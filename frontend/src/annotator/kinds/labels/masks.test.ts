import { expect, it } from 'vitest';
import { labelsIn, switched } from './masks';

it('reads the labels in a mask', () => {
  expect([labelsIn(-1), labelsIn(0), labelsIn(5), labelsIn(1023)]).toEqual([
    [],
    [],
    [0, 2],
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  ]);
});

it('switches a label on where it is missing, and off where all have it', () => {
  expect(switched([-1, 1, 4], [true, true, false], 0)).toEqual([1, 1, 4]);
  expect(switched([1, 3, 4], [true, true, false], 0)).toEqual([-1, 2, 4]);
  expect(switched([-1, -1], [false, true], 9)).toEqual([-1, 512]);
});
