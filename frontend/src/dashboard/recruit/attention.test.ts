import { describe, expect, it } from 'vitest';
import type { Difference, Payment, Recruitment, Submission } from '../../api/types';
import {
  allowed,
  attention,
  actionsOf,
  nextOf,
  paymentActions,
  sentenceOf,
  whoOf,
} from './attention';
import { PLATFORMS } from './platforms.fixture';
import { learnPlatforms } from './platforms.svelte';

learnPlatforms(PLATFORMS);

const recruitment = {
  id: 'r',
  channel: 'mturk',
  reward_cents: 120,
  currency: 'USD',
} as Recruitment;

function work(values: Partial<Submission>): Submission {
  return {
    id: 's',
    recruitment_id: 'r',
    state: 'submitted',
    decision: null,
    annotator: 3,
    n_answered: 4,
    target: 10,
    earned_cents: 48,
    ...values,
  } as Submission;
}

function pay(values: Partial<Payment>): Payment {
  return {
    id: 'p',
    recruitment_id: 'r',
    submission_id: 's',
    kind: 'bonus',
    rule: 'extra',
    amount_cents: 30,
    currency: 'USD',
    annotator: 3,
    ...values,
  } as Payment;
}

function differs(values: Partial<Difference>): Difference {
  return { submission_id: null, assignment_id: null, payment_id: null, ...values } as Difference;
}

describe('what needs a look', () => {
  it('is one row where books and flag tell the same', () => {
    const found = [
      { recruitment, differences: [differs({ what: 'incomplete', submission_id: 's' })] },
    ];
    const rows = attention(found, [work({ flag: 'incomplete' })], []);
    expect(rows.map(({ key, actions }) => [key, actions])).toEqual([
      ['s', ['part', 'approve', 'reject']],
    ]);
  });

  it('offers to pay for the part done once', () => {
    const half = work({ flag: 'incomplete', part_paid: true });
    expect(actionsOf(half, 'mturk')).toEqual(['approve', 'reject']);
    expect(sentenceOf(half, 'mturk')).toContain(
      'The full reward will also be paid unless you reject the work',
    );
  });

  it('is one row for a reward that was refused', () => {
    const refused = pay({ kind: 'reward', rule: 'reward', state: 'failed' });
    const differences = [differs({ what: 'failed', payment_id: 'p', sentence: 'No funds.' })];
    const rows = attention(
      [{ recruitment, differences }],
      [work({ flag: 'payment_failed' })],
      [refused],
    );
    expect(rows.map(({ title, sentence }) => [title, sentence])).toEqual([
      ['Reward: $0.30 was refused', 'No funds.'],
    ]);
  });

  it('offers to pay for work that Mechanical Turk knows nothing of, and on Prolific tells of it', () => {
    const one = differs({ what: 'ours_only', assignment_id: 'a', earned_cents: 96 });
    const rows = (channel: string) =>
      attention([{ recruitment: { ...recruitment, channel }, differences: [one] }], [], []);
    expect(rows('mturk')[0]).toMatchObject({
      actions: ['compensate'],
      lost: { assignment_id: 'a', earned_cents: 96 },
    });
    expect(rows('prolific')[0]?.actions).toEqual([]);
  });
});

it('work that broke off is one row, though the books tell of it, too', () => {
  const broken = work({ flag: 'broken_off', state: 'returned', assignment_id: 'a' });
  const differences = [differs({ what: 'ours_only', assignment_id: 'a' })];
  expect(attention([{ recruitment, differences }], [broken], [])).toHaveLength(1);
});

describe('what can be done', () => {
  it('never lets go of work that somebody waits for', () => {
    for (const flag of ['unknown_person', 'incomplete', 'awaits_review', 'wrong_code', 'new']) {
      expect(actionsOf(work({ flag }), 'mturk')).not.toContain('dismiss');
    }
    const broken = work({ flag: 'broken_off', state: 'returned' });
    expect(actionsOf(broken, 'prolific')).toEqual(['part', 'dismiss']);
    expect(actionsOf(broken, 'mturk')).toEqual(['compensate', 'dismiss']);
  });

  it('offers no part where nothing was done', () => {
    const stranger = work({ flag: 'unknown_person', annotator: null, earned_cents: null });
    expect(actionsOf(stranger, 'mturk')).toEqual(['approve', 'reject']);
  });

  it('leaves spending to the one whose account pays', () => {
    expect(allowed(['part', 'approve', 'reject', 'dismiss'], false)).toEqual(['reject', 'dismiss']);
    expect(allowed(['paid', 'unpaid', 'release'], true)).toEqual(['paid', 'unpaid', 'release']);
  });

  it('never pays again what may have been paid', () => {
    expect(paymentActions(pay({ state: 'parked' }))).toEqual(['paid', 'unpaid']);
    expect(paymentActions(pay({ state: 'held' }))).toEqual(['release', 'cancel']);
    expect(paymentActions(pay({ state: 'failed', kind: 'reward' }))).toEqual(['release']);
  });

  it('says what comes next, with the amount', () => {
    const [row] = attention([{ recruitment, differences: [] }], [work({ flag: 'incomplete' })], []);
    expect(row && nextOf('part', row, 48)).toMatch(
      /^\$0\.48 is being paid as a bonus.*still need to approve or reject/,
    );
    expect(row && nextOf('approve', row, null)).toMatch(/^\$1\.20 is being paid\./);
    expect(sentenceOf(work({ flag: 'incomplete' }), 'mturk')).toContain('4 of 10 grids');
  });
});

it('names whose work a row is about, also once it is paid', () => {
  const [submitted] = attention([{ recruitment, differences: [] }], [work({ flag: 'new' })], []);
  expect(submitted && whoOf(submitted)).toBe('Annotator 3');
  const stopped = [differs({ what: 'held', payment_id: 'p', sentence: '' })];
  const held = pay({ state: 'held', annotator: null });
  const [paid] = attention([{ recruitment, differences: stopped }], [], [held]);
  expect(paid && whoOf(paid)).toBe('Unknown person');
});
