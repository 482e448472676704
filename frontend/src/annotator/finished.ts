/** How an assignment behind a link ended, kept in this browser: the code is shown again later. */
import type { Handout, Session } from '../api/types';
import type { Finished } from './identity';
import { note, noted } from './notes';

/** isNothingNew: nothing was left to do, and what is shown is of an earlier assignment. */
export function noteFinished(
  key: string,
  handout: Handout,
  session: Session | null,
): { finished: Finished | null; isNothingNew: boolean } {
  const { answered, target, completion_code: code, again, earned_cents: earned = null } = handout;
  const { codes } = handout;
  const stopped = handout.status === 'stopped';
  const campaign = session?.campaign ?? null;
  if (code && answered > 0) {
    const returns = Boolean(handout.return_address);
    const finished = { code, answered, target, stopped, campaign, earned, again, returns, codes };
    note(key, finished);
  }
  // With nothing new done, an earlier code is still worth showing, and that there is no more.
  const earlier = noted<Finished>(key);
  const isNothingNew = answered === 0 && earlier !== null && !stopped;
  if (isNothingNew) note(key, { ...earlier, again, underway: false });
  return { finished: noted<Finished>(key), isNothingNew };
}

/** What was finished is not shown first any more, as another assignment was begun. */
export function noteUnderway(key: string): void {
  const finished = noted<Finished>(key);
  if (finished) note(key, { ...finished, underway: true });
}

/** What to show at once: an assignment that was finished, with none begun since. */
export function shownFirst(key: string): Finished | null {
  const finished = noted<Finished>(key);
  return finished?.underway ? null : finished;
}
