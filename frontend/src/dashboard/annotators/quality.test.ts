import { expect, it } from 'vitest';
import type { AnnotatorScore } from '../../api/types';
import { byConcern, consequenceOf, evidenceText, measuresOf, openDecisions } from './quality';

const score = (values: Partial<AnnotatorScore>): AnnotatorScore => ({
  annotator: 0,
  n_answers: 10,
  gold: null,
  repeat: null,
  consensus: null,
  simulated: false,
  n_one_group: 0,
  seconds: null,
  hasty: false,
  verdict: 'unknown',
  warned_at: null,
  stopped_at: null,
  left_out_at: null,
  asked_again_at: null,
  asked_again: 0,
  asked_again_open: 0,
  reviewed_at: null,
  reason: '',
  ...values,
});

it('shows suspect annotators first', () => {
  const all = [
    score({ annotator: 1, n_answers: 90 }),
    score({ annotator: 2, verdict: 'chance', n_answers: 5 }),
    score({ annotator: 3, n_answers: 99, verdict: 'good' }),
  ];
  expect(byConcern(all).map((one) => one.annotator)).toEqual([2, 3, 1]);
});

it('offers what would change something', () => {
  const warned = score({ warned_at: '2030-01-01T00:00:00Z' });
  expect(openDecisions(warned).map(([name]) => name)).toEqual(['stop', 'leave_out', 'restore']);
  expect(openDecisions(score({})).map(([name]) => name)).toEqual(['warn', 'stop', 'leave_out']);
  expect(measuresOf(warned)).toEqual(['warned']);
  expect(measuresOf({ ...warned, verdict: 'good' })).toEqual(['warned earlier']);
});

it('offers to ask again later, once', () => {
  const out = score({ left_out_at: '2030-01-01T00:00:00Z' });
  expect(openDecisions(out)).toContainEqual(['leave_out', 'Ask again']);
  expect(consequenceOf('leave_out', out)).toContain('Others are asked');
  expect(consequenceOf('leave_out', score({}))).toContain('no longer used');
  const asked = score({ ...out, asked_again_at: out.left_out_at, asked_again: 3 });
  expect(openDecisions(asked).map(([name]) => name)).toEqual(['warn', 'stop', 'restore']);
  expect(measuresOf(asked)).toEqual(['left out']);
});

it('says how much agreement there is, and of how many grids', () => {
  expect(evidenceText({ mean: 0.816, band: 0.2, n: 3 })).toBe('0.82 (3)');
  expect(evidenceText({ mean: -0.001, band: 0.2, n: 4 })).toBe('0.00 (4)');
  expect(evidenceText(null)).toBe('–');
});
