/** The ledger in sums and sentences. */
import type { Payment, PaymentTotal, Reconciliation } from '../../api/types';
import { when } from '../../lib/format';
import { PAYMENT_STATES } from './words';

export interface Sum {
  readonly name: string;
  readonly currency: string;
  readonly cents: number;
  readonly fees: number;
}

/** States that a person need not tell apart are summed up; "Paid" is the money line's. */
const LINES: readonly [string, readonly string[]][] = [
  ['Paid', ['paid']],
  ['To be paid', ['due', 'running']],
  ['Needs attention', ['held', 'failed', 'parked']],
];

export function money(totals: readonly PaymentTotal[]): Sum[] {
  const currencies = [...new Set(totals.map(({ currency }) => currency))];
  return currencies.flatMap((currency) =>
    LINES.flatMap(([name, states]) => {
      const some = totals.filter((one) => one.currency === currency && states.includes(one.state));
      if (some.length === 0) return [];
      const cents = some.reduce((sum, one) => sum + one.amount_cents, 0);
      const fees = some.reduce((sum, one) => sum + one.fee_cents, 0);
      return [{ name, currency, cents, fees }];
    }),
  );
}

/** Each state that there is, with how many payments are in it. */
export function statesOf(totals: readonly PaymentTotal[]): [string, number][] {
  return Object.keys(PAYMENT_STATES).flatMap((state) => {
    const n = totals.reduce((sum, one) => (one.state === state ? sum + one.n : sum), 0);
    return n > 0 ? [[state, n] as [string, number]] : [];
  });
}

/** Whether the books agree with what the platforms said, and as of when. */
export function agreement(
  found: readonly Reconciliation[],
  now: Date,
): { agree: boolean; n: number; text: string } {
  const n = found.reduce((sum, { differences }) => sum + differences.length, 0);
  const looks = found.flatMap(({ polled_at }) => (polled_at === null ? [] : [polled_at]));
  if (n > 0) {
    // Not all of it is a mistake: what waits for somebody's word is open, too.
    const things = n === 1 ? '1 thing is' : `${n} things are`;
    return { agree: false, n, text: `${things} unresolved between the ledger and the platform` };
  }
  // What was asked longest ago bounds what can be said of all.
  const oldest = looks.sort()[0];
  if (looks.length < found.length || oldest === undefined) {
    return { agree: false, n, text: 'The platform has not been checked yet.' };
  }
  return { agree: true, n, text: `The ledger and the platform agree as of ${when(oldest, now)}.` };
}

/** What every attempt came to. */
export function historyOf(payment: Payment): { at: string; message: string }[] {
  return payment.history.map((one) => ({
    at: String(one['at'] ?? payment.created_at),
    message: one['said'] === 'done' ? 'Paid.' : String(one['said'] ?? ''),
  }));
}
