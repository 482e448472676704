import { expect, test } from 'vitest';
import { alongAxis, densityPath, leaderPath, slotMiddles, slotWidths } from './strip';

test('slots fill the strip side by side, the ends largest', () => {
  const widths = slotWidths(21);
  expect(widths.reduce((sum, width) => sum + width)).toBeCloseTo(1);
  expect(widths[0]).toBe(Math.max(...widths));
  expect(widths[0]).toBe(widths[20]);
  expect(widths[10]).toBe(Math.min(...widths));
  const middles = slotMiddles(widths);
  middles.slice(1).forEach((middle, k) => {
    const apart = middle - middles[k]!;
    expect(apart).toBeCloseTo((widths[k]! + widths[k + 1]!) / 2);
  });
  expect(middles[10]).toBeCloseTo(0.5);
});

test('few images are ends, and one is in the middle', () => {
  expect(slotWidths(2)).toEqual([0.5, 0.5]);
  expect(slotMiddles(slotWidths(1))).toEqual([0.5]);
  expect(slotWidths(0)).toEqual([]);
});

test('places lie between the ends of the axis', () => {
  expect(alongAxis(-1, [-3, 5])).toBe(0.25);
  expect(alongAxis(4, [4, 4])).toBe(0.5);
});

test('the density is highest where most images are', () => {
  const path = densityPath([0, 0, 8, 0]);
  const heights = [...path.matchAll(/L([\d.]+),([\d.]+)/g)].map((found) => Number(found[2]));
  expect(Math.min(...heights)).toBe(0);
  expect(heights.indexOf(0)).toBe(2);
  expect(densityPath([0, 0])).not.toContain('NaN');
});

test('leaders run from the place on the axis to the slot', () => {
  expect(leaderPath([0.1, 0.9], [0.25, 0.75])).toBe('M0.1000,0 L0.2500,1 M0.9000,0 L0.7500,1');
});
