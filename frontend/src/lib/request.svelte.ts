/** Where a page's requests stand: one is under way, or the last one failed for a reason to show. */
import { ApiError } from '../api/errors';

export class RequestState {
  error = $state('');
  busy = $state(false);
  /** No state: an effect that makes requests must not depend on it. */
  private pending = 0;

  /** The reply, or undefined with the reason in `error`; other errors are passed on. */
  async run<T>(call: () => Promise<T>): Promise<T | undefined> {
    this.pending += 1;
    this.busy = true;
    try {
      const reply = await call();
      this.error = '';
      return reply;
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      this.error = problem.detail;
      return undefined;
    } finally {
      this.pending -= 1;
      this.busy = this.pending > 0;
    }
  }

  /** Whether the server did it; the reason why not is in `error`. */
  async succeeds(call: () => Promise<unknown>): Promise<boolean> {
    return (await this.run(() => call().then(() => true))) ?? false;
  }
}
