import { describe, expect, it } from 'vitest';
import type { Alignment, Score } from '../../api/types';
import { attributesOf, aucText, leastShown, predictionsOf, referencesOf } from './figures';

const score = (auc: number, error = 0.02): Score => ({
  auc,
  error,
  accuracy: 0.7,
  majority: 0.6,
  n_pairs: 100,
});

function alignment(features: string, aligned: number, at = '2026-01-01'): Alignment {
  return {
    features,
    used: true,
    finished_at: at,
    figures: {
      raw: score(0.6),
      aligned: score(aligned),
      used_share: 1,
      explained: [0.5],
      gain: 0.1,
      gain_error: 0.01,
      campaign: score(aligned + 0.05),
      people: null,
      by_attribute: [
        { attribute: 2, low: ['cold'], high: ['warm'], raw: null, aligned: score(0.8) },
      ],
    },
  } as unknown as Alignment;
}

describe('figures', () => {
  it('have an error if several repeats were made', () => {
    expect(aucText(score(0.876))).toBe('0.88 ± 0.02');
    expect(aucText(score(0.5, 0))).toBe('0.50');
    expect(aucText(null)).toBe('–');
  });

  it('are compared with those of the newest alignment', () => {
    const items = [alignment('clip', 0.8, '2026-01-02'), alignment('dino', 0.7)];
    expect(referencesOf(items).map(({ name, auc }) => [name, auc])).toEqual([
      ['Chance', 0.5],
      ['Campaign', 0.8500000000000001],
    ]);
    expect(referencesOf([])).toEqual([]);
  });

  it('name each attribute once', () => {
    const rows = attributesOf([alignment('clip', 0.8), alignment('dino', 0.7)]);
    expect(rows.map(({ name }) => name)).toEqual(['cold – warm']);
    expect(rows[0]?.scores.map((each) => each?.auc)).toEqual([0.8, 0.8]);
  });

  it('begin at chance or below', () => {
    expect(leastShown(predictionsOf([alignment('clip', 0.9)]))).toBe(0.45);
    expect(leastShown(predictionsOf([alignment('clip', 0.33)]))).toBeCloseTo(0.3);
  });
});
