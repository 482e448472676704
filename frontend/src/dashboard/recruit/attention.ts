/** What somebody has to look at: flagged work, payments that stopped, and whatever else the books
 * and the platform do not agree about. One row for each, with what can be done about it. */
import type { Difference, Payment, Recruitment, Submission } from '../../api/types';
import { amount } from '../wizard/money';
import { platformOf, whatFor } from './words';

export type Deed =
  | 'approve'
  | 'reject'
  | 'part'
  | 'dismiss'
  | 'release'
  | 'cancel'
  | 'paid'
  | 'unpaid'
  | 'compensate';

export interface Item {
  readonly key: string;
  readonly recruitment: Recruitment;
  /** Their number in the campaign; null: never began here. */
  readonly annotator: number | null;
  readonly title: string;
  readonly sentence: string;
  readonly submission?: Submission;
  readonly payment?: Payment;
  /** Work here that can be paid by a task for one person. */
  readonly lost?: { readonly assignment_id: string; readonly earned_cents: number };
  readonly deeds: readonly Deed[];
}

export interface Found {
  readonly recruitment: Recruitment;
  readonly differences: readonly Difference[];
}

const TITLES: Record<string, string> = {
  unknown_person: 'Handed in without having worked here',
  incomplete: 'Handed in before all grids were done',
  awaits_review: 'Work to look at',
  broken_off: 'Work that broke off',
  rejected_there: 'Rejected on the platform',
  decision_failed: 'Your decision was refused',
  payment_failed: 'The reward was refused',
  wrong_code: 'Handed in with a wrong code',
  compensated: 'Handed in after all',
  asked_to_return: 'Asked to return it, days ago',
  screened_out_there: 'Sent back on the platform',
  paid_not_booked: 'Paid there, not in the books',
  booked_not_paid: 'In the books, not paid there',
  amount: 'Another amount',
  bonus: 'Bonuses do not agree',
  ours_only: 'Done here, not handed in there',
};

const PAYMENT_TITLES: Record<string, string> = {
  held: 'waits for your word',
  failed: 'was refused',
  parked: 'may have been paid, or not',
};

/** As AWAITS_WORD in app/recruitment/ledger.py, which the title says already. */
const AWAITS = 'Awaits your word.';
const UNTOLD = 'Nobody is told, and nothing is paid, before you say so.';

export function titleOf(what: string): string {
  return TITLES[what] ?? 'Does not agree';
}

function done(submission: Submission): string {
  const { n_answered, target } = submission;
  return n_answered === null || target === null ? '' : `${n_answered} of ${target} grids`;
}

/** Why a submission needs a look, in a sentence. */
export function sentenceOf(submission: Submission, channel: string): string {
  const platform = platformOf(channel);
  switch (submission.flag) {
    case 'unknown_person':
      return `${platform} has work of somebody who never opened a grid here. It is paid by itself in the end unless you reject it.`;
    case 'incomplete':
      if (submission.part_paid) {
        return `Only ${done(submission)} are done, and paid for. Unless you reject it, the whole reward is paid besides: after your word, or by ${platform} in the end.`;
      }
      return `Only ${done(submission)} are done. Nobody is rejected by a rule: pay all of it, pay for the part done, or reject it.`;
    case 'awaits_review':
      return `All is done (${done(submission)}); it is paid after your word.`;
    case 'broken_off':
      return `${done(submission)} were done before the place was given back or the time ran out. Pay for them if it was not their fault.`;
    case 'rejected_there':
      return `Somebody rejected it on ${platform}'s own pages. Pay it after all, or say why that stays so.`;
    case 'decision_failed':
      return `${platform} did not take your last decision. Decide again, or leave it.`;
    case 'wrong_code':
      return `Its completion code is none of the study's (${done(submission) || 'nothing done here'}).`;
    case 'compensated':
      return `A task that pays for it was put up already, and then it was handed in after all. Pay it, or reject it.`;
    case 'asked_to_return':
      return `${platform} has asked them to return it, and they have not. It is paid by itself in the end unless you reject it.`;
    case 'screened_out_there':
      return `Somebody sent this person back on ${platform}'s own pages. Nothing is paid by Likewise for that.`;
    case 'payment_failed':
      return `${platform} did not take the approval. Approve it again, or reject it.`;
    default:
      return `This work needs a look: ${submission.flag.replaceAll('_', ' ')}.`;
  }
}

/** Deeds that spend money: they are for the one whose account on the platform pays. */
const SPENDING: readonly Deed[] = ['approve', 'part', 'release', 'compensate'];

export function allowed(deeds: readonly Deed[], isPayer: boolean): Deed[] {
  return deeds.filter((deed) => isPayer || !SPENDING.includes(deed));
}

export function deedsOf(submission: Submission, channel: string): Deed[] {
  const part: Deed[] =
    submission.annotator !== null && (submission.earned_cents ?? 0) > 0 && !submission.part_paid
      ? ['part']
      : [];
  const undecided = submission.state === 'submitted' && submission.decision === null;
  switch (submission.flag) {
    case 'awaits_review':
    case 'unknown_person':
    case 'wrong_code':
    case 'compensated':
    case 'asked_to_return':
      return ['approve', 'reject'];
    case 'incomplete':
      return [...part, 'approve', 'reject'];
    case 'broken_off':
      // Mechanical Turk knows bonuses only for what was handed in.
      return channel === 'mturk' && part.length > 0
        ? ['compensate', 'dismiss']
        : [...part, 'dismiss'];
    case 'rejected_there':
      return ['approve', 'dismiss'];
    case 'decision_failed':
    case 'payment_failed':
      return undecided ? ['approve', 'reject'] : ['approve', 'reject', 'dismiss'];
    default:
      return undecided ? ['approve', 'reject'] : ['dismiss'];
  }
}

export function paymentDeeds(payment: Payment): Deed[] {
  if (payment.state === 'parked') return ['paid', 'unpaid'];
  return payment.kind === 'reward' ? ['release'] : ['release', 'cancel'];
}

function ofSubmission(recruitment: Recruitment, submission: Submission): Item {
  const { assignment_id, earned_cents } = submission;
  return {
    key: submission.id,
    recruitment,
    annotator: submission.annotator,
    title: titleOf(submission.flag),
    sentence: sentenceOf(submission, recruitment.channel),
    submission,
    ...(assignment_id ? { lost: { assignment_id, earned_cents: earned_cents ?? 0 } } : {}),
    deeds: deedsOf(submission, recruitment.channel),
  };
}

function ofPayment(recruitment: Recruitment, payment: Payment, sentence: string): Item {
  const money = amount(payment.amount_cents, payment.currency);
  const state = PAYMENT_TITLES[payment.state] ?? payment.state;
  return {
    key: payment.id,
    recruitment,
    annotator: payment.annotator,
    title: `${whatFor(payment)}: ${money} ${state}`,
    sentence: payment.state === 'held' && payment.why === AWAITS ? UNTOLD : sentence,
    payment,
    deeds: paymentDeeds(payment),
  };
}

function ofDifference(recruitment: Recruitment, one: Difference, at: number): Item {
  const { assignment_id, earned_cents } = one;
  // On Mechanical Turk a task for one person pays who has no work there.
  const canPay = one.what === 'ours_only' && recruitment.channel === 'mturk';
  const lost = canPay && assignment_id ? { assignment_id, earned_cents: earned_cents ?? 0 } : null;
  return {
    key: `${recruitment.id} ${one.what} ${one.submission_id ?? assignment_id ?? at}`,
    recruitment,
    annotator: one.annotator,
    title: titleOf(one.what),
    sentence: one.sentence,
    deeds: lost ? ['compensate'] : [],
    ...(lost ? { lost } : {}),
  };
}

/** One list of all that needs a look; what is known twice, as a flag and as a difference of the
 * books, is one row. */
export function attention(
  found: readonly Found[],
  flagged: readonly Submission[],
  payments: readonly Payment[],
): Item[] {
  const byId = new Map(found.map(({ recruitment }) => [recruitment.id, recruitment]));
  const stopped = new Map(payments.map((one) => [one.id, one]));
  // A reward that was refused is decided about by its payment's row alone.
  const refused = new Set(
    payments.filter(({ state }) => state !== 'held').map((one) => one.submission_id),
  );
  const items = flagged.flatMap((submission) => {
    const recruitment = byId.get(submission.recruitment_id);
    const twice = submission.flag === 'payment_failed' && refused.has(submission.id);
    return recruitment && !twice ? [ofSubmission(recruitment, submission)] : [];
  });
  const known = new Set<string | null>(
    items.flatMap(({ key, submission }) => [key, submission?.assignment_id ?? key]),
  );
  for (const { recruitment, differences } of found) {
    for (const [at, one] of differences.entries()) {
      const payment = one.payment_id ? stopped.get(one.payment_id) : undefined;
      if (payment) {
        items.push(ofPayment(recruitment, payment, one.sentence));
      } else if (
        !one.payment_id &&
        !known.has(one.submission_id) &&
        !known.has(one.assignment_id)
      ) {
        items.push(ofDifference(recruitment, one, at));
      }
    }
  }
  return items;
}

/** What follows from a deed, for the row that it was done in. */
export function nextOf(deed: Deed, item: Item, cents: number | null): string {
  const { recruitment, payment, submission } = item;
  const platform = platformOf(recruitment.channel);
  const money = amount(
    cents ?? payment?.amount_cents ?? recruitment.reward_cents,
    recruitment.currency,
  );
  switch (deed) {
    case 'approve':
      return submission?.state === 'rejected'
        ? `The rejection is being taken back, and ${money} paid. Payments shows it as paid once ${platform} has confirmed it.`
        : `${money} are being paid. Payments shows it as paid once ${platform} has confirmed it.`;
    case 'reject':
      return `${platform} is being told. The person reads your reason; you can take it back under Rejected.`;
    case 'part':
      return submission?.state === 'submitted'
        ? `${money} are being paid as a bonus. The work itself still waits for your approval or rejection.`
        : `${money} are being paid as a bonus.`;
    case 'compensate':
      return `${platform} is being asked to put up a task of ${money} that this person alone can see.`;
    case 'dismiss':
      return 'Nothing is done about it. Your reason is kept.';
    case 'release':
      return `${money} are being paid now.`;
    case 'cancel':
      return `${money} will not be paid.`;
    case 'paid':
      return `Booked as paid: ${money}.`;
    case 'unpaid':
      return `Booked as not paid. It waits for your word: have it paid, or cancel it.`;
  }
}
