import { describe, expect, test } from 'vitest';
import { extents, linear, linePath, niceTicks, withError, type Series } from './scale';

const SERIES: Series[] = [
  {
    name: 'a',
    colour: 'red',
    points: [
      { x: 60, y: 0.5, error: 0.1 },
      { x: 120, y: 0.7, error: null },
    ],
    ahead: { x: 220, y: 0.75, error: 0.2 },
  },
];

describe('ticks', () => {
  test('are round and cover both ends', () => {
    expect(niceTicks([0, 1])).toEqual([0, 0.25, 0.5, 0.75, 1]);
    expect(niceTicks([0.41, 0.62])).toEqual([0.4, 0.5, 0.6, 0.7]);
    expect(niceTicks([60, 240])).toEqual([50, 100, 150, 200, 250]);
    expect(niceTicks([-0.1, 0.3], 3)).toEqual([-0.2, 0, 0.2, 0.4]);
  });

  test('exist for a single value, too', () => {
    const ticks = niceTicks([5, 5]);
    expect(ticks.length).toBeGreaterThan(1);
    expect(ticks[0]).toBeLessThanOrEqual(5);
    expect(ticks.at(-1)).toBeGreaterThanOrEqual(5);
    expect(niceTicks([0, 0]).length).toBeGreaterThan(1);
  });
});

test('extents take in errors and what is ahead', () => {
  const { x, y } = extents(SERIES);
  expect(x).toEqual([60, 220]);
  expect(y[0]).toBeCloseTo(0.4);
  expect(y[1]).toBeCloseTo(0.95);
  expect(extents([])).toEqual({ x: [0, 1], y: [0, 1] });
});

test('a scale maps ends to ends, and one value to the middle', () => {
  const scale = linear([0, 10], [100, 0]);
  expect([scale(0), scale(5), scale(10)]).toEqual([100, 50, 0]);
  expect(linear([3, 3], [0, 100])(3)).toBe(50);
});

test('lines and figures are written', () => {
  const plain = (value: number) => value;
  expect(linePath(SERIES[0]!.points, plain, plain)).toBe('M60.0,0.5L120.0,0.7');
  const format = (value: number) => value.toFixed(1);
  expect(SERIES[0]!.points.map((point) => withError(point, format))).toEqual(['0.5 ± 0.1', '0.7']);
});
