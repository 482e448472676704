/** Words for background jobs: trainings, dry runs, simulated crowds, comparisons of halves. */
import type { Job, Progress } from '../../api/types';

const KINDS: Record<string, string> = {
  learn: 'Training',
  dry_run: 'Dry run',
  choose: 'Choice of images',
  simulate: 'Simulated crowd',
  split_half: 'Comparison of halves',
};
const STATES: Record<string, string> = {
  queued: 'waits',
  running: 'runs',
  done: 'done',
  failed: 'failed',
};

export function kindOf(job: Job): string {
  return KINDS[job.kind] ?? job.kind;
}

export function stateOf(job: Job): string {
  return STATES[job.state] ?? job.state;
}

/** Why a job that failed is not tried again by itself. */
export function endOf(job: Job): string {
  if (job.attempts >= job.max_attempts) {
    return job.attempts === 1
      ? 'stopped after one attempt'
      : `stopped after ${job.attempts} attempts`;
  }
  return 'is not retried because it would fail the same way';
}

/** Changes when the list of jobs does. */
export function versionOf(newest: Job | null): string {
  return newest === null ? '' : `${newest.id} ${newest.state} ${newest.attempts}`;
}

/** How far a job is that computes features of many images. */
export function lookedAtText({ done, images }: NonNullable<Progress['looked_at']>): string {
  const count = (number: number) => number.toLocaleString('en');
  return `Looking at the images: ${count(done)} of ${count(images)}.`;
}
