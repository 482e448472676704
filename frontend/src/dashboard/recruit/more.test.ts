import { describe, expect, it } from 'vitest';
import type { Estimate } from '../../api/types';
import { lackingFor } from './more';

const estimate = {
  rewards_cents: 225,
  fees_cents: 45,
  screen_outs_cents: 0,
  bonuses_cents: 180,
  bonus_fees_cents: 36,
  total_cents: 486,
} as Estimate;

function standing(left: number | null): Parameters<typeof lackingFor>[0] {
  return { places: 12, submissions: { approved: 3 }, money: { left_cents: left } };
}

describe('more places', () => {
  it('raise the limit by what they and those before may earn beyond the reward', () => {
    // Nine more at 0.30 and 0.24 of bonuses, and 0.24 for each of the nine that are out still.
    expect(lackingFor(standing(282), estimate, 9)).toBe(486 + 9 * 24 - 282);
  });

  it('leave a limit as it is that has room for all', () => {
    expect(lackingFor(standing(1000), estimate, 9)).toBe(0);
    expect(lackingFor(standing(null), estimate, 9)).toBe(0);
  });
});
