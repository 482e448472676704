import { describe, expect, it } from 'vitest';
import { means, scaleOf, ticks } from './chart';

describe('a dry run’s chart', () => {
  const scale = scaleOf({ left: 10, right: 110, top: 0, bottom: 50 }, 10, 1000);

  it('has answers on a logarithmic axis', () => {
    expect(scale.x(10)).toBeCloseTo(10);
    expect(scale.x(100)).toBeCloseTo(60);
    expect(scale.x(1000)).toBeCloseTo(110);
    expect([scale.y(0), scale.y(1)]).toEqual([50, 0]);
  });

  it('has a few round figures', () => {
    expect(ticks(50, 1200)).toEqual([50, 100, 200, 500, 1000]);
    expect(ticks(3, 9000).length).toBeLessThanOrEqual(6);
  });

  it('takes the mean of equal budgets', () => {
    const points = [
      { answers: 200, right: 0.4 },
      { answers: 100, right: 0.2 },
      { answers: 200, right: 0.6 },
    ];
    expect(means(points)).toEqual([
      { answers: 100, right: 0.2 },
      { answers: 200, right: 0.5 },
    ]);
  });
});
