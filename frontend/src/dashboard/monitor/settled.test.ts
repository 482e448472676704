import { describe, expect, it } from 'vitest';
import { keptText, neededText, settledText, type Settled } from './settled';

const NOTHING = { answers: 0, cents: 0 };
const SETTLED: Settled = {
  version: 3,
  share: 0.714,
  low: 0.66,
  high: 0.76,
  chance: 0.05,
  n_neighbors: 10,
  n_answers: 1200,
  predicts: true,
  is_enough: false,
  target: 0.8,
  aim: 0.8,
  needed: { answers: 704, cents: 8400 },
  needed_least: { answers: 300, cents: 3600 },
  needed_most: { answers: 1123, cents: 13200 },
};

describe('how settled neighbours are', () => {
  it('is a share with its interval', () => {
    expect(settledText(SETTLED)).toBe(
      '71\u00a0% of each image’s 10 nearest neighbours would be the same with 1,200 other answers (66 – 76\u00a0%).',
    );
  });

  it('has a price', () => {
    expect(neededText(SETTLED, 'USD', 800)).toBe(
      'Until the target of 80\u00a0%: about 700 more answers (300 – 1,100), about $84.00 ($36.00 – $132.00).',
    );
  });

  it('costs nothing without a reward, and may exceed the budget', () => {
    const free = {
      ...SETTLED,
      target: null,
      needed: { answers: 700, cents: 0 },
      needed_most: { answers: null, cents: null },
    };
    expect(neededText(free, 'USD', 699)).toBe(
      'Until 80\u00a0%: about 700 more answers (300 – no limit), more than the budget has left.',
    );
  });

  it('may be reached, or out of reach', () => {
    const reached = { ...SETTLED, needed: NOTHING };
    expect(neededText({ ...reached, is_enough: true }, 'USD', 5)).toBe(
      'This reaches the target of 80\u00a0%.',
    );
    expect(neededText(reached, 'USD', 5)).toContain('This may reach the target of 80\u00a0%. The');
    expect(neededText({ ...reached, target: null }, 'USD', 5)).toBe('This reaches 80\u00a0%.');
    const never = { ...SETTLED, needed: { answers: null, cents: null } };
    expect(neededText(never, 'USD', 5)).toContain('No number of answers');
  });

  it('says nothing of answers that do not predict each other', () => {
    const noise = { ...SETTLED, predicts: false, needed: NOTHING };
    expect(neededText(noise, 'USD', 5)).toContain('and the campaign does not end');
    expect(neededText({ ...noise, target: null }, 'USD', 5)).not.toContain('campaign');
  });

  it('is a number of neighbours for one image', () => {
    const kept = { expected: 7.2, low: 6.1, high: 8.4, of: 10 };
    expect(keptText(kept)).toBe(
      '7 of the 10 nearest would stay with as many other answers (6 – 9).',
    );
  });
});
