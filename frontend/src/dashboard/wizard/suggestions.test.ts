import { describe, expect, it } from 'vitest';
import type { Collection, Options } from '../../api/types';
import { beginWith, suggestedBudget, suggestedPart } from './suggestions';

const options = {
  kinds: {
    grid: { grid_size: 24, max_groups: 10, columns: 6, strategy: 'cen', views: 16 },
    bins: { grid_size: 20, max_groups: 4, columns: 4, strategy: 'crowdster', views: 16 },
  },
  strategies: [
    { name: 'cen', kinds: ['grid', 'bins'], default_rounds: 2 },
    { name: 'crowdster', kinds: ['bins', 'grid'], default_rounds: 5 },
  ],
} as unknown as Options;

const of = (n: number) => ({ id: 'c', name: 'Birds', n_images: n }) as Collection;

describe('what a campaign begins with', () => {
  it('suggests a part of the images of at least one grid and a few hundred', () => {
    expect(suggestedPart(50_000, 24)).toBe(400);
    expect(suggestedPart(240, 10)).toBe(48);
    expect(suggestedPart(30, 24)).toBe(24);
  });

  it('is a round budget that shows each image often enough', () => {
    expect(suggestedBudget(100, 24)).toBe(70);
    expect(suggestedBudget(300, 20)).toBe(240);
    expect(suggestedBudget(1000, 20)).toBe(800);
    expect(suggestedBudget(20_000, 20)).toBe(16_000);
    expect(suggestedBudget(3, 3)).toBe(20);
  });

  it('suits the kind of task', () => {
    expect(beginWith(of(300), 'bins', options)).toMatchObject({
      strategy: 'crowdster',
      grid_size: 20,
      max_groups: 4,
      rounds: 5,
    });
    expect(beginWith(of(300), 'grid', options).strategy).toBe('cen');
  });

  it('is checked by repeats', () => {
    expect(beginWith(of(300), 'grid', options).annotation).toEqual({ repeat_share: 0.1 });
  });

  it('fits a small collection', () => {
    expect(beginWith(of(9), 'grid', options).grid_size).toBe(9);
  });
});
