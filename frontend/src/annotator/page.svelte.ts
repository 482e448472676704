/** The page's life: session, leases one after the other, and what to show in between. */
import { ApiError } from '../api/client';
import type { Handout, Session } from '../api/types';
import { leaseNextGrid, openSession, saveDraft, submitAnswer } from './api';
import { Board } from './board.svelte';
import { DraftSaver, localDraft, resumeFrom } from './drafts';
import { withRetries } from './retry';
import { annotatorKey, forget, randomId, recall, remember } from './storage';
import { rememberWords } from './words';

export type Phase =
  | { name: 'loading' | 'waiting' | 'paused' }
  | { name: 'working'; board: Board }
  | { name: 'done'; code: string | null; answered: number }
  | { name: 'error'; sentence: string };

interface Finished {
  code: string;
  answered: number;
}

const GONE = new Set(['already_submitted', 'lease_not_found', 'idempotency_mismatch']);

export class Page {
  phase: Phase = $state.raw({ name: 'loading' });
  session: Session | null = $state.raw(null);
  answered = $state(0);
  target = $state(0);
  /** Something that happened which the annotator should know about. */
  notice = $state('');
  submitting = $state(false);
  submitError = $state('');

  private drafts: DraftSaver | null = null;
  private submitKey = '';
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly link: string) {}

  /** Opens the page: a finished assignment shows its code again instead of starting another. */
  async start(): Promise<void> {
    const finished = recall<Finished>(this.doneKey);
    if (finished) this.phase = { name: 'done', ...finished };
    else await this.next();
  }

  async doMore(): Promise<void> {
    this.session = null;
    this.notice = '';
    await this.next();
  }

  /** Asks for the next grid; opens the session where there is none. */
  async next(): Promise<void> {
    clearTimeout(this.timer);
    if (this.phase.name !== 'waiting' && this.phase.name !== 'paused') {
      this.phase = { name: 'loading' };
    }
    try {
      this.show(await withRetries(() => this.authorised(leaseNextGrid)));
    } catch (error) {
      this.phase = { name: 'error', sentence: sentenceOf(error) };
    }
  }

  async submit(): Promise<void> {
    if (this.phase.name !== 'working' || this.submitting) return;
    const { board } = this.phase;
    this.submitting = true;
    this.submitError = '';
    this.notice = '';
    this.drafts?.close();
    const send = (token: string) =>
      submitAnswer(token, board.lease.id, this.submitKey, board.answer());
    try {
      const reply = await withRetries(() => this.authorised(send), {
        onRetry: () => (this.submitError = 'The connection is slow. Trying again…'),
      });
      this.answered = reply.answered;
      this.target = reply.target;
      rememberWords(this.link, board.answer().descriptions ?? []);
      await this.leave();
    } catch (error) {
      if (isGone(error)) await this.leave(sentenceOf(error));
      else this.stay(sentenceOf(error));
    } finally {
      this.submitting = false;
    }
  }

  /** Saves what is pending, before the page is left or hidden. */
  saveNow(): void {
    void this.drafts?.flush();
  }

  private stay(sentence: string): void {
    this.submitError = `${sentence} Your work is kept; submit again in a moment.`;
    this.drafts?.reopen();
  }

  private async leave(notice = ''): Promise<void> {
    this.drafts?.forget();
    this.drafts = null;
    this.submitError = '';
    this.notice = notice && `${notice} Here is the next one.`;
    await this.next();
  }

  private async authorised<T>(call: (token: string) => Promise<T>): Promise<T> {
    const session = this.session ?? (await this.open());
    try {
      return await call(session.token);
    } catch (error) {
      // The token has run out: the same key is the same annotator with the same lease.
      if (!(error instanceof ApiError && error.status === 401)) throw error;
      return call((await this.open()).token);
    }
  }

  private async open(): Promise<Session> {
    const session = await openSession(this.link, annotatorKey());
    this.session = session;
    this.answered = session.answered;
    this.target = session.target;
    return session;
  }

  private show(handout: Handout): void {
    this.answered = handout.answered;
    this.target = handout.target;
    if (handout.status === 'leased' && handout.lease && this.session) this.work(handout.lease);
    else if (handout.status === 'done') this.finish(handout);
    else {
      this.phase = { name: handout.status === 'paused' ? 'paused' : 'waiting' };
      const seconds = Math.max(1, handout.retry_after_seconds ?? 3);
      this.timer = setTimeout(() => void this.next(), seconds * 1000);
    }
  }

  private work(lease: NonNullable<Handout['lease']>): void {
    const resumed = resumeFrom(lease, localDraft(this.link));
    const drafts = new DraftSaver(
      this.link,
      lease.id,
      resumed.version,
      (body) => this.authorised((token) => saveDraft(token, lease.id, body)),
      (error) => void this.draftRefused(error),
    );
    forget(this.doneKey);
    this.drafts = drafts;
    this.submitKey = randomId();
    const board = new Board(this.session!.campaign, lease, resumed, ({ current, elapsed }) => {
      this.submitError = '';
      drafts.changed(current, elapsed);
    });
    this.phase = { name: 'working', board };
  }

  private finish(handout: Handout): void {
    const { answered, completion_code: code } = handout;
    if (code && answered > 0) remember(this.doneKey, { code, answered });
    // With nothing new done, an earlier code is still worth showing.
    const finished = recall<Finished>(this.doneKey) ?? { code: null, answered: 0 };
    this.phase = { name: 'done', ...finished };
  }

  private async draftRefused(error: ApiError): Promise<void> {
    if (isGone(error)) await this.leave(error.detail);
    else if (error.code === 'stale_draft') {
      this.notice = 'This grid is open in another window too. What you submit first counts.';
    }
  }

  private get doneKey(): string {
    return `likewise:done:${this.link}`;
  }
}

function isGone(error: unknown): boolean {
  return error instanceof ApiError && GONE.has(error.code);
}

function sentenceOf(error: unknown): string {
  if (error instanceof ApiError && error.code === 'idempotency_mismatch') {
    return 'This grid was submitted already.';
  }
  return error instanceof ApiError ? error.detail : 'Something went wrong on this page.';
}
