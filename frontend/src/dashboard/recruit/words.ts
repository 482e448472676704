/** What the page says of recruitments, payments and the rest, in plain words. */
import type {
  ChannelAccount,
  ChannelOptions,
  Payment,
  Recruitment,
  Submission,
} from '../../api/types';
import { amount } from '../../lib/format';
import { platformOf } from './platforms.svelte';

export const ENVIRONMENTS: Record<string, string> = {
  production: 'real money',
  sandbox: 'sandbox',
  custom: 'own endpoint',
};

/** Choices of the settings' forms. */
export const CHOICES: Record<string, string> = {
  automatic: 'as soon as the work is complete',
  review: 'after I review it',
  Accept: 'see it, but not accept it',
  PreviewAndAccept: 'find it in the list, but not open it',
  DiscoverPreviewAndAccept: 'not find it at all',
  desktop: 'computers',
  tablet: 'tablets',
  mobile: 'phones',
};

export const RECRUITMENT_STATES: Record<string, string> = {
  draft: 'planned',
  open: 'open',
  paused: 'paused',
  stopped: 'stopped',
};

/** Colours of the badges are those of campaigns' states. */
export const BADGES: Record<string, string> = {
  draft: 'draft',
  open: 'running',
  paused: 'paused',
  stopped: 'finished',
};

export const POSTING_STATES: Record<string, string> = {
  planned: 'being published',
  open: 'open',
  paused: 'paused',
  closed: 'closed',
  failed: 'not published',
};

export const PAYMENT_STATES: Record<string, string> = {
  held: 'needs your approval',
  due: 'to be paid',
  running: 'being paid',
  paid: 'paid',
  failed: 'refused',
  parked: 'outcome unknown',
  cancelled: 'cancelled',
};

const RULES: Record<string, string> = {
  reward: 'Reward',
  extra: 'Extra grids',
  quality: 'Good work',
  hand: 'Bonus from you',
  part: 'Partial work',
};
const KINDS: Record<string, string> = {
  screen_out: 'Screened out after practice',
  outside: 'Reward through a link',
};

export function whatFor(payment: Pick<Payment, 'kind' | 'rule'>): string {
  return KINDS[payment.kind] ?? RULES[payment.rule] ?? 'Bonus';
}

export function places(n: number): string {
  return n === 1 ? '1 place' : `${n} places`;
}

export function answersWanted(n: number): string {
  return n === 1 ? '1 answer is still needed' : `${n} answers are still needed`;
}

/** "3 submitted, 2 at work, 1 returned": what became of the places that were taken. */
export function workOf(counts: Record<string, number>): string {
  const sum = (...states: string[]) =>
    states.reduce((total, state) => total + (counts[state] ?? 0), 0);
  const parts: [number, string][] = [
    [sum('submitted', 'approved', 'rejected'), 'submitted'],
    [sum('accepted'), 'at work'],
    [sum('returned', 'timed_out'), 'returned'],
    [sum('screened_out'), 'screened out after practice'],
  ];
  return parts.flatMap(([n, name]) => (n > 0 ? [`${n} ${name}`] : [])).join(', ');
}

export function accountLine(account: ChannelAccount): string {
  const parts = [platformOf(account.channel), ENVIRONMENTS[account.environment] ?? ''];
  const checked = account.checked;
  if (checked?.balance_cents != null) {
    parts.push(`${amount(checked.balance_cents, checked.currency)} at the last check`);
  }
  if (!checked) parts.push('never checked');
  else if (checked.problems.length > 0) parts.push('does not work yet');
  return parts.join(' · ');
}

/** What a plan pays for an hour; null while nothing is paid. */
export function hourly(reward_cents: number, minutes: number): number | null {
  return reward_cents > 0 && minutes > 0 ? Math.round((reward_cents * 60) / minutes) : null;
}

/** Fields of a channel's settings, in the groups in which they are asked for. */
export function groupsOf(channel: ChannelOptions): { title: string; fields: string[] }[] {
  const known = Object.keys((channel.settings['properties'] ?? {}) as object);
  const groups = [
    { title: 'What people see', fields: ['title', 'description', 'keywords'] },
    {
      title: 'Who can take part',
      fields: [
        'countries',
        'min_percent_approved',
        'min_approved',
        'guard',
        'devices',
        'exclude_former',
      ],
    },
    {
      title: 'Pay and bonuses',
      fields: [
        'approve',
        'extra_grids',
        'extra_cents',
        'quality_cents',
        'screen_out_cents',
        'keep_low_fee',
      ],
    },
  ];
  const named = groups.flatMap(({ fields }) => fields);
  const rest = known.filter((name) => !named.includes(name));
  return [...groups, { title: 'Time', fields: rest }]
    .map(({ title, fields }) => ({ title, fields: fields.filter((one) => known.includes(one)) }))
    .filter(({ fields }) => fields.length > 0);
}

/** Whether people are paid real money. */
export function isReal(one: Pick<Recruitment, 'environment'>): boolean {
  return one.environment === 'production';
}

/** Whose work it is: a number here, else the end of what the platform calls it. */
export function whoseWork(one: Pick<Submission, 'annotator' | 'external_id'>): string {
  if (one.annotator !== null) return `Annotator ${one.annotator}`;
  const { external_id } = one;
  return external_id.length > 12 ? `Submission …${external_id.slice(-8)}` : external_id;
}
