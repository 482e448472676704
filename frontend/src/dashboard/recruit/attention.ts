/** What somebody has to look at: flagged work, payments that stopped, and whatever else the books
 * and the platform do not agree about. One row for each, with what can be done about it. */
import type { Difference, Payment, Recruitment, Submission } from '../../api/types';
import { amount } from '../../lib/format';
import { compensates, platformOf } from './platforms.svelte';
import { whatFor, whoseWork } from './words';

export type Action =
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
  readonly actions: readonly Action[];
}

export interface Found {
  readonly recruitment: Recruitment;
  readonly differences: readonly Difference[];
}

const TITLES: Record<string, string> = {
  unknown_person: 'Submitted without any work here',
  incomplete: 'Submitted before all grids were done',
  awaits_review: 'Work to review',
  broken_off: 'Unfinished work',
  rejected_there: 'Rejected on the platform',
  decision_failed: 'Your decision was refused',
  payment_failed: 'The reward was refused',
  wrong_code: 'Submitted with a wrong code',
  compensated: 'Submitted after all',
  asked_to_return: 'Asked to return it days ago',
  screened_out_there: 'Screened out on the platform',
  paid_not_booked: 'Paid on the platform, not in the ledger',
  booked_not_paid: 'In the ledger, not paid on the platform',
  amount: 'Amounts do not match',
  bonus: 'Bonuses do not match',
  ours_only: 'Done here, not submitted on the platform',
};

const PAYMENT_TITLES: Record<string, string> = {
  held: 'needs your approval',
  failed: 'was refused',
  parked: 'may or may not have been paid',
};

/** The title says already that it needs approval. */
const UNAPPROVED = 'Nothing is sent or paid until you approve it.';

export function titleOf(what: string): string {
  return TITLES[what] ?? 'Does not match';
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
      return `${platform} has work from someone who never opened a grid here. It will be paid automatically unless you reject it.`;
    case 'incomplete':
      if (submission.part_paid) {
        return `Only ${done(submission)} are done, and they are already paid. The full reward will also be paid unless you reject the work: when you approve it, or automatically by ${platform}.`;
      }
      return `Only ${done(submission)} are done. Likewise never rejects work automatically: pay the full reward, pay for the completed part, or reject it.`;
    case 'awaits_review':
      return `All grids are done (${done(submission)}). The work is paid once you approve it.`;
    case 'broken_off':
      return `${done(submission)} were done before the place was returned or the time ran out. Pay for them if it was not the person's fault.`;
    case 'rejected_there':
      return `Someone rejected it on ${platform} itself. Pay it anyway, or say why the rejection stands.`;
    case 'decision_failed':
      return `${platform} did not accept your last decision. Decide again, or leave it.`;
    case 'wrong_code':
      return `Its completion code does not belong to the study (${done(submission) || 'no work done here'}).`;
    case 'compensated':
      return `A task to pay for it was already published, and then it was submitted after all. Pay it, or reject it.`;
    case 'asked_to_return':
      return `${platform} asked the person to return it, and they have not. It will be paid automatically unless you reject it.`;
    case 'screened_out_there':
      return `Someone screened this person out on ${platform} itself. Likewise pays nothing for that.`;
    case 'payment_failed':
      return `${platform} did not accept the approval. Approve it again, or reject it.`;
    default:
      return `This work needs attention: ${submission.flag.replaceAll('_', ' ')}.`;
  }
}

/** Actions that spend money: they are for the one whose account on the platform pays. */
const SPENDING: readonly Action[] = ['approve', 'part', 'release', 'compensate'];

export function allowed(actions: readonly Action[], isPayer: boolean): Action[] {
  return actions.filter((action) => isPayer || !SPENDING.includes(action));
}

export function actionsOf(submission: Submission, channel: string): Action[] {
  const part: Action[] =
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
      // Some platforms know bonuses only for submitted work.
      return compensates(channel) && part.length > 0
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

export function paymentActions(payment: Payment): Action[] {
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
    actions: actionsOf(submission, recruitment.channel),
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
    sentence: payment.why_code === 'awaits_approval' ? UNAPPROVED : sentence,
    payment,
    actions: paymentActions(payment),
  };
}

function ofDifference(recruitment: Recruitment, one: Difference, at: number): Item {
  const { assignment_id, earned_cents } = one;
  // On some platforms a task for one person pays who has no work there.
  const canPay = one.what === 'ours_only' && compensates(recruitment.channel);
  const lost = canPay && assignment_id ? { assignment_id, earned_cents: earned_cents ?? 0 } : null;
  return {
    key: `${recruitment.id} ${one.what} ${one.submission_id ?? assignment_id ?? at}`,
    recruitment,
    annotator: one.annotator,
    title: titleOf(one.what),
    sentence: one.sentence,
    actions: lost ? ['compensate'] : [],
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

/** Whose work or payment a row is about; it stays the same once the row is decided. */
export function whoOf({ submission, annotator }: Item): string {
  if (submission) return whoseWork(submission);
  return annotator === null ? 'Unknown person' : `Annotator ${annotator}`;
}

/** What follows from an action, for the row that it was done in. */
export function nextOf(action: Action, item: Item, cents: number | null): string {
  const { recruitment, payment, submission } = item;
  const platform = platformOf(recruitment.channel);
  const money = amount(
    cents ?? payment?.amount_cents ?? recruitment.reward_cents,
    recruitment.currency,
  );
  switch (action) {
    case 'approve':
      return submission?.state === 'rejected'
        ? `The rejection is being reversed and ${money} is being paid. Payments shows it as paid once ${platform} has confirmed it.`
        : `${money} is being paid. Payments shows it as paid once ${platform} has confirmed it.`;
    case 'reject':
      return `Notifying ${platform}. The person will read your reason. You can reverse the rejection under Rejected.`;
    case 'part':
      return submission?.state === 'submitted'
        ? `${money} is being paid as a bonus. You still need to approve or reject the work.`
        : `${money} is being paid as a bonus.`;
    case 'compensate':
      return `Asking ${platform} to publish a task for ${money} that only this person can see.`;
    case 'dismiss':
      return 'Nothing will be done. Your reason is saved.';
    case 'release':
      return `${money} is being paid now.`;
    case 'cancel':
      return `${money} will not be paid.`;
    case 'paid':
      return `Recorded as paid: ${money}.`;
    case 'unpaid':
      return `Recorded as not paid. Approve the payment or cancel it.`;
  }
}
