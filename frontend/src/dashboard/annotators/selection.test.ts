import { describe, expect, it } from 'vitest';
import type { SelectedPerson, SentMessage, Submission } from '../../api/types';
import {
  chunks,
  costText,
  filtered,
  leftOut,
  sentTogether,
  stateText,
  waitingFor,
} from './selection';
import type { Work } from './work';

const person = (annotator: number, why = '', currency = 'USD'): SelectedPerson => ({
  ...{ annotator, why, currency: why ? '' : currency },
  ...{ amount_cents: why ? 0 : 100, fee_cents: why ? 0 : 20 },
});
const message = (annotator: number, state: string, request = 'a'): SentMessage => ({
  ...{ id: `${annotator}`, annotator, state, request, why: '', text: 'Hello', sender: 'a@b.c' },
  created_at: '2026-11-28T10:00:00Z',
});

describe('selected people', () => {
  it('wait only if their work awaits review', () => {
    const submissions = [
      { annotator: 0, flag: 'awaits_review' },
      { annotator: 1, flag: 'incomplete' },
      { annotator: null, flag: 'awaits_review' },
    ] as Submission[];
    expect([...waitingFor(submissions)]).toEqual([0]);
  });

  it('are filtered by who waits and by verdict', () => {
    const verdicts = ['good', 'chance', 'one_group'];
    const work = verdicts.map((verdict, annotator) => ({
      score: { annotator, verdict },
    })) as Work[];
    const shown = (filter: Parameters<typeof filtered>[1]) =>
      filtered(work, filter, new Set([2])).map(({ score }) => score.annotator);
    expect(shown('')).toEqual([0, 1, 2]);
    expect(shown('waiting')).toEqual([2]);
    expect(shown('suspect')).toEqual([1, 2]);
    expect(shown('unknown')).toEqual([]);
  });

  it('cost a total with fees for each currency, without those left out', () => {
    expect(costText([person(0), person(1), person(2, 'No.')])).toBe(
      '$2.40, including $0.40 in fees',
    );
    expect(costText([person(0), person(1, '', 'GBP')])).toContain('£1.20');
    expect(leftOut([person(0), person(1, 'No.'), person(2, 'No.')])).toEqual([['No.', [1, 2]]]);
  });

  it('are acted on in parts', () => {
    expect(chunks([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
  });

  it('show messages that were sent together', () => {
    const [group, other] = sentTogether([
      message(0, 'done'),
      message(1, 'due'),
      message(2, 'failed'),
      message(0, 'done', 'b'),
    ]);
    expect(group && stateText(group)).toBe('sent to 1 person, waiting for the platform: 1');
    expect(group?.failed.map(({ annotator }) => annotator)).toEqual([2]);
    expect(other?.request).toBe('b');
  });
});
