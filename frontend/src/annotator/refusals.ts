/** What the server refuses who comes: some of it for good, some only for now. */
import { ApiError } from '../api/errors';
import type { Key, Notice } from './texts';

/** Titles by the code of the refusal; the server's sentence says what to do. */
const TITLES: Record<string, Key> = {
  malformed_entry: 'refused_address',
  unknown_posting: 'refused_address',
  assignment_of_other_posting: 'refused_address',
  bad_submit_address: 'refused_address',
  unknown_submission: 'refused_address',
  another_person: 'refused_address',
  another_study: 'refused_address',
  second_person: 'refused_second_person',
  took_part_before: 'refused_before',
  not_accepted: 'refused_not_accepted',
  not_at_work: 'refused_not_at_work',
  handed_in: 'handed_in_title',
  assignment_returned: 'returned_title',
  personal_link: 'personal_link_title',
  revoked: 'revoked_title',
  link_used: 'link_used_title',
  study_over: 'study_over_title',
  link_closed: 'link_closed_title',
  link_full: 'link_full_title',
  device_limit: 'device_limit_title',
  id_missing: 'bad_address_title',
  id_malformed: 'bad_address_title',
  parameter_repeated: 'bad_address_title',
  parameter_long: 'bad_address_title',
  parameter_malformed: 'bad_address_title',
  parameter_unfilled: 'bad_address_title',
};
/** Sentences in the page's language, where the server's own says no more. */
const TEXTS: Record<string, Key> = {
  personal_link: 'personal_link_text',
  revoked: 'revoked_text',
  study_over: 'study_over_text',
  link_closed: 'link_closed_text',
  link_full: 'link_full_text',
  id_missing: 'id_missing_text',
  id_malformed: 'bad_address_text',
  parameter_repeated: 'bad_address_text',
  parameter_long: 'bad_address_text',
  parameter_malformed: 'bad_address_text',
  parameter_unfilled: 'bad_address_text',
};
/** About a link's password: what is wrong with the one that was sent, if any was. */
const PASSWORD: Record<string, Key | ''> = {
  password_needed: '',
  wrong_password: 'password_wrong',
  too_many_attempts: 'password_too_often',
};
/** Seconds until the next try by itself, by how many were in vain. */
const WAITS: Record<string, readonly number[]> = {
  assignment_taken: [20],
  platform_silent: [15, 30, 60],
  not_yet: [10, 20, 30],
};

export interface Refusal {
  readonly code: string;
  readonly title: Key;
  readonly sentence: string;
  readonly text: Key | null;
  /** What exactly is wrong, in the server's words; null where the text says all. */
  readonly reason: string | null;
  /** Where the link sends this person. */
  readonly back: string | null;
  /** Seconds until the next try; null: it would be refused again. */
  readonly wait: number | null;
}

/** What to show instead of grids; null where the error is something else. */
export function refusalOf(error: unknown, tries = 0): Refusal | null {
  if (!(error instanceof ApiError)) return null;
  const { code, detail: sentence, returnAddress: back, reason } = error;
  const waits = WAITS[code];
  if (waits) {
    const wait = waits[Math.min(tries, waits.length - 1)] ?? null;
    return { code, title: 'later_title', sentence, text: null, reason, back, wait };
  }
  const title = TITLES[code] ?? (error.status === 403 ? 'refused_title' : null);
  return title && { code, title, sentence, text: TEXTS[code] ?? null, reason, back, wait: null };
}

/** Whether a link's password is asked for, and what was wrong with the last; null: it is not. */
export function passwordProblem(error: unknown): Key | '' | null {
  return error instanceof ApiError ? (PASSWORD[error.code] ?? null) : null;
}

/**
 * Whether it is worth asking again at once: a platform that is silent is given time, and a password
 * is typed again.
 */
export function isPassing(error: ApiError): boolean {
  return error.temporary && !(error.code in WAITS) && !(error.code in PASSWORD);
}

/** Refusals after the requester changed what comes before the grids, and what is said then. */
export const STARTS_OVER = new Map<string, Notice | null>([
  ['not_prepared', null],
  ['consent_changed', { key: 'consent_changed' }],
  ['questions_changed', { key: 'questions_changed' }],
]);

/** Notices that the next call that succeeds takes away. */
export const PASSING = new Set<Key>(['offline', 'error_server']);
