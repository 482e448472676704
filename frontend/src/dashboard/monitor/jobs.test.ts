import { describe, expect, it } from 'vitest';
import type { Job } from '../../api/types';
import { endOf, kindOf, lookedAtText, stateOf, versionOf } from './jobs';

const job = (changes: Partial<Job>): Job => ({
  id: '0192',
  kind: 'learn',
  state: 'failed',
  attempts: 3,
  max_attempts: 3,
  progress: 0,
  error: 'The worker was lost in attempt 3.',
  can_retry: true,
  created_at: '2026-11-22T10:00:00Z',
  finished_at: '2026-11-22T10:05:00Z',
  ...changes,
});

describe('a job that failed', () => {
  it('was given up when its attempts were used up', () => {
    expect(endOf(job({}))).toBe('stopped after 3 attempts');
    expect(endOf(job({ attempts: 1, max_attempts: 1 }))).toBe('stopped after one attempt');
  });

  it('is not tried again where another attempt would end the same way', () => {
    expect(endOf(job({ attempts: 1 }))).toContain('would fail the same way');
  });
});

describe('jobs', () => {
  it('are named for people, also kinds and states not known here', () => {
    expect([
      kindOf(job({})),
      kindOf(job({ kind: 'dry_run' })),
      kindOf(job({ kind: 'new' })),
    ]).toEqual(['Training', 'Dry run', 'new']);
    expect([stateOf(job({ state: 'queued' })), stateOf(job({ state: 'odd' }))]).toEqual([
      'waits',
      'odd',
    ]);
  });

  it('are read again when the newest is another, in another state or attempt', () => {
    const versions = [
      null,
      job({}),
      job({ id: '0193' }),
      job({ state: 'queued' }),
      job({ attempts: 2 }),
    ].map(versionOf);
    expect(new Set(versions).size).toBe(5);
    expect(versionOf(job({ progress: 0.5 }))).toBe(versionOf(job({})));
  });
});

it('says how many images a job has looked at', () => {
  expect(lookedAtText({ done: 1200, images: 20_000 })).toBe(
    'Looking at the images: 1,200 of 20,000.',
  );
});
