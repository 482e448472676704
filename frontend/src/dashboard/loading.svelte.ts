/** Asking the server, and saying in the page what went wrong. */
import { ApiError } from '../api/client';

export class Asking {
  error = $state('');
  busy = $state(false);
  /** No state: an effect that asks must not depend on it. */
  private pending = 0;

  /** The reply, or undefined with `error` telling why there is none. */
  async for<T>(ask: () => Promise<T>): Promise<T | undefined> {
    this.pending += 1;
    this.busy = true;
    try {
      const reply = await ask();
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
}
