import { describe, expect, it } from 'vitest';
import type { Payment, PaymentTotal, Reconciliation } from '../../api/types';
import { conditionsOf, sizesOf } from './dryrun';
import { agreement, historyOf, money, statesOf } from './payments';

const totals: PaymentTotal[] = [
  { state: 'paid', currency: 'USD', n: 2, amount_cents: 240, fee_cents: 48 },
  { state: 'due', currency: 'USD', n: 1, amount_cents: 30, fee_cents: 6 },
  { state: 'running', currency: 'USD', n: 1, amount_cents: 10, fee_cents: 2 },
  { state: 'parked', currency: 'GBP', n: 1, amount_cents: 50, fee_cents: 22 },
  { state: 'cancelled', currency: 'USD', n: 4, amount_cents: 999, fee_cents: 9 },
];

describe('the sums of the ledger', () => {
  it('keep currencies apart, and count nothing that was cancelled', () => {
    expect(money(totals)).toEqual([
      { name: 'Paid', currency: 'USD', cents: 240, fees: 48 },
      { name: 'To be paid', currency: 'USD', cents: 40, fees: 8 },
      { name: 'Needs attention', currency: 'GBP', cents: 50, fees: 22 },
    ]);
  });

  it('tell how many payments are in each state that there is', () => {
    expect(Object.fromEntries(statesOf(totals))).toEqual({
      due: 1,
      running: 1,
      paid: 2,
      parked: 1,
      cancelled: 4,
    });
  });
});

describe('books and platform', () => {
  const now = new Date(2026, 10, 21, 18, 0);
  const seen = (minute: number | null, n = 0) =>
    ({
      polled_at: minute === null ? null : new Date(2026, 10, 21, 12, minute).toISOString(),
      differences: Array.from({ length: n }),
    }) as unknown as Reconciliation;

  it('agree as of the look that is longest ago', () => {
    expect(agreement([seen(30), seen(3)], now)).toMatchObject({
      agree: true,
      text: 'The ledger and the platform agree as of 12:03.',
    });
  });

  it('are not said to agree before all platforms were asked, nor with differences', () => {
    expect(agreement([seen(3), seen(null)], now).agree).toBe(false);
    expect(agreement([seen(3, 1), seen(3, 1)], now)).toMatchObject({
      agree: false,
      n: 2,
      text: '2 things are unresolved between the ledger and the platform',
    });
    expect(agreement([], now).agree).toBe(false);
  });
});

describe('a dry run', () => {
  const of = (...sizes: number[]) =>
    sizesOf(sizes.map((places, at) => ({ number: at + 1, places })) as never);

  it('tells the places of each task', () => {
    expect([of(1), of(9, 1), of(9, 9, 9, 9, 9, 2)]).toEqual([
      '1 place',
      '9 + 1 places',
      '5 × 9 + 2 places',
    ]);
  });

  it('tells who may take part', () => {
    expect(conditionsOf({ countries: [], exclude_former: true })).toBe('Everybody, once each.');
    const settings = { countries: ['US', 'GB'], min_percent_approved: 95, devices: ['desktop'] };
    expect(conditionsOf(settings)).toBe(
      'People in US, GB, with 95 % or more of their work approved, on computers.',
    );
  });
});

it('the history of a payment is told in words', () => {
  const history = [
    { at: '2026-11-21T12:00:00Z', attempt: 1, said: 'The server did not answer.' },
    { at: '2026-11-21T12:01:00Z', attempt: 2, said: 'done' },
  ];
  const attempts = historyOf({ history } as unknown as Payment);
  expect(attempts.map(({ message }) => message)).toEqual(['The server did not answer.', 'Paid.']);
});
