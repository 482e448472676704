import { ApiError } from '../api/errors';

export interface RetryOptions {
  attempts?: number;
  /** Told before each wait, so that the page can say so. */
  onRetry?: (error: ApiError, attempt: number) => void;
  sleep?: (milliseconds: number) => Promise<void>;
  random?: () => number;
  /** Whether a failure may pass soon. */
  isPassing?: (error: ApiError) => boolean;
}

const FIRST_WAIT = 500;
const LONGEST_WAIT = 8000;

/** Wait before the attempt after `failures` failures: doubling, with jitter so that clients spread. */
export function backoff(failures: number, random: () => number = Math.random): number {
  const longest = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 1));
  return longest / 2 + (random() * longest) / 2;
}

/** Repeats an operation that is safe to repeat while it fails for a reason that may pass. */
export async function withRetries<T>(
  operation: () => Promise<T>,
  options: RetryOptions = {},
): Promise<T> {
  const { attempts = Infinity, onRetry, sleep = waitOrOnline, random = Math.random } = options;
  const { isPassing = (error) => error.temporary } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      return await operation();
    } catch (error) {
      const again = error instanceof ApiError && isPassing(error) && attempt < attempts;
      if (!again) throw error;
      onRetry?.(error, attempt);
      await sleep(backoff(attempt, random));
    }
  }
}

export function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Waits, but no longer than until the connection is back. */
export function waitOrOnline(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener('online', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    addEventListener('online', done);
  });
}
