/** The annotator's session: opened when it is first needed, and again when its token has expired. */
import { ApiError } from '../api/errors';
import type { Session } from '../api/types';
import { type HeadStart, takeHeadStart } from '../head-start';
import * as api from './api';
import type { Arrival } from './arrival';

export class Access {
  session: Session | null = $state.raw(null);
  /** Of the link, as it was typed; asked for the first time only. */
  password = '';
  private opening: Promise<Session> | null = null;

  /** onOpened: hears of every session, and of what came with it ahead of the page. */
  constructor(
    private readonly arrival: Arrival,
    private readonly onOpened: (session: Session, early: HeadStart | null) => void,
  ) {}

  /** One opening at a time, for all callers. */
  open(): Promise<Session> {
    this.opening ??= this.opened().finally(() => (this.opening = null));
    return this.opening;
  }

  async authorised<T>(call: (token: string) => Promise<T>): Promise<T> {
    const session = this.session ?? (await this.open());
    try {
      return await call(session.token);
    } catch (error) {
      // The token has run out: the same key is the same annotator with the same lease.
      if (!(error instanceof ApiError && error.status === 401)) throw error;
      return call((await this.open()).token);
    }
  }

  /** Says that the page is open still, or being left; only where there is a session. */
  async tellPresence(left: boolean): Promise<void> {
    if (this.session === null) return;
    try {
      await api.tellPresence(this.session.token, left);
    } catch (error) {
      // The next beat, or the next grid, is heard.
      if (!(error instanceof ApiError)) throw error;
    }
  }

  private async opened(): Promise<Session> {
    const early = await takeHeadStart();
    const session = early?.session ?? (await api.openSession(this.arrival, this.password));
    this.password = '';
    this.session = session;
    this.onOpened(session, early);
    return session;
  }
}
