import { expect, test } from 'vitest';
import type { ComparedPoint } from '../../api/types';
import { figureText, placeColour, pointAt, versusChance } from './compare';

function aPoint(image: number, x: number, other_x: number): ComparedPoint {
  return { image, url: '', filename: '', x, y: 0, other_x, other_y: 0, moved: 0 };
}

test('opposite places have opposite colours, the centre none', () => {
  expect(placeColour(1, 0)).toBe('oklch(0.64 0.170 0)');
  expect(placeColour(-1, 0)).toBe('oklch(0.64 0.170 180)');
  expect(placeColour(0, 0)).toContain(' 0.000 ');
});

test('figures are read with their errors and against chance', () => {
  expect(figureText(0.6412, 0.021, true)).toBe('64.1 % ± 2.1 %');
  expect(figureText(0.31, 0.02, false)).toBe('0.310 ± 0.020');
  const figure = { value: 0.6, error: 0.02, chance: 0.05, chance_error: 0.01 };
  expect(versusChance(figure)).toBe('far from chance');
  expect(versusChance({ ...figure, value: 0.08 })).toBe('no different from chance');
});

test('the point under the pointer is found on either map', () => {
  const points = [aPoint(1, 0, 0.9), aPoint(2, 0.5, -0.9)];
  expect(pointAt(points, false, 0.45, 0, 0.1)?.image).toBe(2);
  expect(pointAt(points, true, 0.88, 0, 0.1)?.image).toBe(1);
  expect(pointAt(points, true, 0, 0, 0.1)).toBe(null);
});
