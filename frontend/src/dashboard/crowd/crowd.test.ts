import { describe, expect, it } from 'vitest';
import type { SimulatedCrowdRun } from '../../api/types';
import { crowdText, isActive, mixQuestion, nameOf, progressText, toggled } from './crowd';

const run: SimulatedCrowdRun = {
  id: '0',
  created_at: '',
  finished_at: null,
  state: 'running',
  message: '',
  by: ['colour', 'size'],
  annotators: 8,
  noise: 0.1,
  answers: 2000,
  stored: 1000,
  checks: 0,
  surplus: 0,
};

describe('a simulated crowd', () => {
  it('sorts by several attributes, or by one thing', () => {
    expect(toggled(['colour'], 'size', true, false)).toEqual(['colour', 'size']);
    expect(toggled(['colour', 'size'], 'colour', false, false)).toEqual(['size']);
    expect(toggled(['colour', 'size'], 'features', true, false)).toEqual(['features']);
    expect(toggled(['features'], 'colour', true, false)).toEqual(['colour']);
    expect(toggled(['colour'], 'size', true, true)).toEqual(['size']);
  });

  it('is described in words', () => {
    expect(nameOf('kind=red')).toBe('kind: red');
    expect(crowdText(run)).toBe('8 annotators sort by colour and size, noise 10 %');
    expect(crowdText({ ...run, annotators: 1, by: ['features'], noise: 0 })).toBe(
      '1 annotator sorts by the features in your table, noise 0 %',
    );
    expect(progressText(run)).toBe('1,000 of 2,000 answers');
    expect(progressText({ ...run, checks: 1, surplus: 2 })).toBe(
      '1,000 of 2,000 answers (and 1 check, 2 surplus)',
    );
  });

  it('is active until it is done or has failed', () => {
    expect(isActive(null)).toBe(false);
    for (const state of ['queued', 'waiting', 'running'] as const) {
      expect(isActive({ ...run, state })).toBe(true);
    }
    for (const state of ['done', 'failed'] as const) {
      expect(isActive({ ...run, state })).toBe(false);
    }
  });

  it('asks before it mixes with people', () => {
    expect(mixQuestion({ has_people: false })).toBe('');
    expect(mixQuestion({ has_people: true })).toContain('cannot be deleted');
  });
});
