/** The page's life: session, what comes before the grids, and grids one after the other. */
import { tick } from 'svelte';
import { ApiError } from '../api/client';
import type { Handout, Lease, RemarkIn, Session, StageState, Step } from '../api/types';
import { takeHeadStart } from '../head-start';
import * as api from './api';
import { Board } from './board.svelte';
import { DraftSaver, dropDraft, isAhead, localDraft, resumeFrom, type SaveState } from './drafts';
import { type Draft, merge } from './grouping';
import {
  annotatorKey,
  type Finished,
  finishedKey,
  isSomebodyElse,
  randomId,
  settleKey,
} from './identity';
import { dropOutgoing, keepOutgoing, outgoing, type Outgoing } from './outbox';
import { type Size, Pictures, sizesFor } from './pictures';
import { PracticeRun } from './practice.svelte';
import { withRetries } from './retry';
import { note, noted } from './notes';
import { type Key, t } from './texts';
import { otherWindows, type Told, type Windows } from './windows';
import { rememberWords } from './words';

export type Phase =
  | { name: 'loading' | 'consent' | 'declined' | 'instructions' | 'warning' | 'somebody-else' }
  | { name: 'waiting' | 'paused' }
  | { name: 'practice'; run: PracticeRun }
  | { name: 'working'; board: Board }
  | { name: 'done'; finished: Finished | null; stopped: boolean }
  | { name: 'error'; sentence: string };

const GONE = new Set(['already_submitted', 'lease_not_found', 'idempotency_mismatch']);
/** Milliseconds of quiet before the next grid's images are fetched. */
const AHEAD_DELAY = 1500;

export class Page {
  phase: Phase = $state.raw({ name: 'loading' });
  session: Session | null = $state.raw(null);
  stage: StageState | null = $state.raw(null);
  answered = $state(0);
  target = $state(0);
  secondsSpent = $state(0);
  /** Something that happened which the annotator should know about. */
  notice = $state('');
  saveState: SaveState = $state('saved');
  submitting = $state(false);
  submitError = $state('');
  /** Leftovers were explained once; they need no more confirmation. */
  knowsLeftovers = false;

  private readonly pictures = new Pictures((lease, size) =>
    withRetries(() => this.authorised((token) => api.leaseImages(token, lease, size))),
  );
  private readonly windows: Windows;
  private drafts: DraftSaver | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private aheadTimer: ReturnType<typeof setTimeout> | undefined;
  private opening: Promise<Session> | null = null;

  constructor(readonly link: string) {
    this.windows = otherWindows(link, (told) => void this.heard(told));
  }

  /** Opens the page: a finished assignment shows its code again instead of starting another. */
  async start(): Promise<void> {
    if (isSomebodyElse(this.link)) {
      this.phase = { name: 'somebody-else' };
      return;
    }
    settleKey(this.link, true);
    const finished = noted<Finished>(this.doneKey);
    // Whether somebody is still stopped is for the server to say.
    if (finished && !finished.stopped) this.phase = { name: 'done', finished, stopped: false };
    else await this.enter();
  }

  /** The address is another annotator's: go on in their place, or as oneself. */
  async settle(takeBrought: boolean): Promise<void> {
    if (takeBrought) {
      await dropOutgoing(this.link);
      await dropDraft(this.link);
    }
    settleKey(this.link, takeBrought);
    await this.start();
  }

  async doMore(): Promise<void> {
    this.session = null;
    this.notice = '';
    await this.enter();
  }

  /** Opens the session and shows what comes first. */
  async enter(): Promise<void> {
    this.phase = { name: 'loading' };
    await this.attempt(async () => {
      const left = await outgoing(this.link);
      const session = await withRetries(() => this.open(), this.whileRetrying);
      const isSent = left !== null && (await this.deliver(left));
      if (isSent) this.notice = t('sent_earlier');
      const isBack = await this.bringBack(session.next?.lease?.id);
      if (left === null && !isBack && session.next) return this.show(session.next);
      await this.advance(session);
    });
  }

  /**
   * Work on a grid that this browser did without a connection, and whose lease has run out since:
   * the server takes it, and then hands that grid out again.
   */
  private async bringBack(lease: string | undefined): Promise<boolean> {
    const local = await localDraft(this.link);
    if (local === null || local.lease === lease || !isAhead(local)) return false;
    const groups = [...local.groups];
    const body = { version: local.version + 1, groups, descriptions: [...local.descriptions] };
    try {
      await this.call((token) => api.saveDraft(token, local.lease, body));
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // It was finished, or given back: nothing of it is missing.
      return false;
    }
  }

  /** Agreed, or read. */
  async take(step: Step): Promise<void> {
    this.submitting = true;
    await this.attempt(async () =>
      this.advance(await this.call((token) => api.takeStep(token, step))),
    );
    this.submitting = false;
  }

  decline(): void {
    this.phase = { name: 'declined' };
  }

  /** Asks for the next grid. */
  async next(): Promise<void> {
    clearTimeout(this.timer);
    if (!this.session) return this.enter();
    if (this.phase.name !== 'waiting' && this.phase.name !== 'paused') {
      this.phase = { name: 'loading' };
    }
    await this.attempt(async () => this.show(await this.call(api.leaseNextGrid)));
  }

  async advance(stage: StageState): Promise<void> {
    this.stage = stage;
    if (stage.stage === 'work') await this.next();
    else if (stage.stage === 'practice') await this.practise();
    else this.phase = { name: stage.stage };
  }

  async submit(): Promise<void> {
    if (this.phase.name !== 'working' || this.submitting) return;
    const { board } = this.phase;
    this.submitting = true;
    this.submitError = '';
    this.notice = '';
    this.drafts?.close();
    try {
      const body = board.answer();
      const sent = await this.deliver({ lease: board.subject.id, key: randomId(), body });
      void rememberWords(this.link, body.descriptions ?? []);
      await this.leave(sent ? '' : t('moved_on'));
    } catch (error) {
      // Refused for good, as it stands: the answer stays on the page, to be changed or skipped.
      this.submitError = `${sentenceOf(error)} ${t('keep_open')}`;
      this.drafts?.reopen();
    } finally {
      this.submitting = false;
    }
  }

  async skip(why: string): Promise<void> {
    if (this.phase.name !== 'working') return;
    const lease = this.phase.board.subject.id;
    this.drafts?.close();
    await this.attempt(async () => {
      await this.call((token) => api.returnLease(token, lease, why));
      await this.leave();
    });
  }

  async comment(text: string): Promise<void> {
    const lease = this.phase.name === 'working' ? this.phase.board.subject.id : null;
    await this.remark({ kind: 'comment', text, lease_id: lease, image: null });
    this.notice = t('comment_sent');
  }

  async reportBroken(image: number): Promise<void> {
    if (this.phase.name !== 'working') return;
    const { board } = this.phase;
    board.reportBroken(image);
    await this.remark({ kind: 'broken_image', text: '', lease_id: board.subject.id, image });
    this.notice = t('reported', { image: board.nameOf(image) });
  }

  private async remark(body: RemarkIn): Promise<void> {
    await this.attempt(() => this.call((token) => api.sendRemark(token, body)));
  }

  /** Saves what is pending, before the page is left or hidden. */
  saveNow(): void {
    void this.drafts?.flush();
  }

  noteVisible(visible: boolean): void {
    if (this.phase.name === 'working') this.phase.board.note(visible ? 'v' : 'h');
  }

  /** One call to the server, repeated while the connection is away. */
  call<T>(operation: (token: string) => Promise<T>): Promise<T> {
    return withRetries(() => this.authorised(operation), this.whileRetrying);
  }

  private readonly whileRetrying = {
    onRetry: (error: ApiError) => {
      const offline = error.status === 0;
      if (this.submitting) this.submitError = t(offline ? 'offline' : 'retrying');
      else this.notice = t(offline ? 'offline' : 'error_server');
    },
  };

  /** Does something; what cannot be helped is shown instead. */
  async attempt(action: () => Promise<void> | void): Promise<void> {
    try {
      await action();
      if (this.notice === t('offline') || this.notice === t('error_server')) this.notice = '';
    } catch (error) {
      this.phase = { name: 'error', sentence: sentenceOf(error) };
    }
  }

  /** Sends an answer until it is acknowledged; false when the server had one of this grid already. */
  private async deliver(answer: Outgoing): Promise<boolean> {
    await keepOutgoing(this.link, answer);
    let isStored = true;
    try {
      const reply = await this.call((token) =>
        api.submitAnswer(token, answer.lease, answer.key, answer.body),
      );
      // In one step: no count may run ahead of the grid that is shown.
      this.phase = { name: 'loading' };
      this.answered = reply.answered;
      this.target = reply.target;
      this.secondsSpent = reply.seconds_spent;
    } catch (error) {
      isStored = false;
      if (!(error instanceof ApiError && GONE.has(error.code))) {
        await dropOutgoing(this.link);
        throw error;
      }
    }
    // Sent once more after a crash now, it would be the same answer still.
    void dropOutgoing(this.link);
    this.windows.tell({ type: 'finished', lease: answer.lease });
    return isStored;
  }

  private async leave(notice = ''): Promise<void> {
    const left = this.drafts;
    this.drafts = null;
    this.submitError = '';
    this.notice = notice;
    await left?.forget();
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

  /** One opening at a time, whoever asks. */
  private open(): Promise<Session> {
    this.opening ??= this.opened().finally(() => (this.opening = null));
    return this.opening;
  }

  private async opened(): Promise<Session> {
    const early = await takeHeadStart();
    const session = early?.session ?? (await api.openSession(this.link, annotatorKey(this.link)));
    this.session = session;
    this.stage = session;
    this.answered = session.answered;
    this.target = session.target;
    this.secondsSpent = session.seconds_spent;
    const lease = session.next?.lease;
    if (lease && early?.images) this.pictures.expect(lease.id, 'small', early.images);
    return session;
  }

  private async practise(): Promise<void> {
    const practice = await this.call(api.currentPractice);
    const run = new PracticeRun(this, this.session!.campaign, practice);
    this.phase = { name: 'practice', run };
  }

  private async show(handout: Handout): Promise<void> {
    this.answered = handout.answered;
    this.target = handout.target;
    if (handout.status === 'leased' && handout.lease) await this.work(handout.lease);
    else if (handout.status === 'done' || handout.status === 'stopped') this.finish(handout);
    else if (handout.status === 'warning') this.phase = { name: 'warning' };
    else {
      this.phase = { name: handout.status === 'paused' ? 'paused' : 'waiting' };
      const seconds = Math.max(1, handout.retry_after_seconds ?? 3);
      this.timer = setTimeout(() => void this.next(), seconds * 1000);
    }
  }

  private async work(lease: Lease): Promise<void> {
    const resumed = resumeFrom(lease, await localDraft(this.link));
    const drafts = new DraftSaver({
      link: this.link,
      lease: lease.id,
      version: resumed.version,
      save: (body) => this.saved(lease.id, body),
      onStale: () => void this.join(lease.id),
      onRefused: (error) => void this.draftRefused(error),
      onState: (state) => (this.saveState = state),
    });
    const board = new Board(this.session!.campaign, lease, resumed, ({ work, current }) => {
      this.submitError = '';
      drafts.changed(work);
      const draft = { groups: current.groups, descriptions: current.descriptions };
      this.windows.tell({ type: 'draft', lease: lease.id, draft });
    });
    this.drafts = drafts;
    this.saveState = 'saved';
    this.phase = { name: 'working', board };
    this.pictures.keepOnly([lease.id]);
    // How large the images are is known once they are laid out.
    await tick();
    // Not waited for: the grid takes clicks while its pictures come.
    void this.paint(board);
  }

  private async saved(lease: string, body: Draft & { version: number }): Promise<void> {
    const { groups, descriptions, version } = body;
    const send = { version, groups: [...groups], descriptions: [...descriptions] };
    await this.authorised((token) => api.saveDraft(token, lease, send));
    this.windows.tell({ type: 'saved', lease, version, base: { groups, descriptions } });
  }

  /** Puts the pictures in as they come, the small ones first; then fetches the next grid's. */
  private async paint(board: Board): Promise<void> {
    try {
      for (const size of this.sizes(board)) {
        const addresses = await this.pictures.of(board.subject.id, size);
        if (!this.isAt(board)) return;
        board.pictures = addresses.map((address, k) => address ?? board.pictures[k] ?? null);
      }
    } catch (error) {
      // Each picture still has an address of its own.
      board.pictures = board.subject.images.map(({ url }) => url);
      if (!(error instanceof ApiError)) throw error;
    }
    clearTimeout(this.aheadTimer);
    this.aheadTimer = setTimeout(() => void this.fetchAhead(board), AHEAD_DELAY);
  }

  private isAt(board: Board): boolean {
    return this.phase.name === 'working' && this.phase.board === board;
  }

  private sizes(board: Board): Size[] {
    const tile = document.querySelector('[data-image]');
    const edge = tile?.clientWidth ?? innerWidth / board.campaign.columns;
    return sizesFor(edge, devicePixelRatio);
  }

  private async fetchAhead(board: Board): Promise<void> {
    if (!this.isAt(board)) return;
    try {
      const { lease } = await this.authorised(api.leaseAhead);
      if (!lease) return;
      for (const size of this.sizes(board)) await this.pictures.of(lease.id, size);
    } catch (error) {
      // Only a head start is lost; the next grid asks again.
      if (!(error instanceof ApiError)) throw error;
    }
  }

  private finish(handout: Handout): void {
    const { answered, completion_code: code } = handout;
    const stopped = handout.status === 'stopped';
    const campaign = this.session?.campaign ?? null;
    if (code && answered > 0) {
      const finished: Finished = { code, answered, target: handout.target, stopped, campaign };
      note(this.doneKey, finished);
    }
    // With nothing new done, an earlier code is still worth showing.
    this.phase = { name: 'done', finished: noted<Finished>(this.doneKey), stopped };
  }

  private async heard(told: Told): Promise<void> {
    if (this.phase.name !== 'working' || this.submitting) return;
    const { board } = this.phase;
    if (board.subject.id !== told.lease) return;
    if (told.type === 'draft') {
      board.takeOver(told.draft);
      this.drafts?.adopted(board.work);
    } else if (told.type === 'saved') this.drafts?.heard(told.version, told.base);
    else {
      this.drafts?.close();
      await this.leave(t('moved_on'));
    }
  }

  /** Another device has saved a draft of this grid: take in what it changed, and save both. */
  private async join(lease: string): Promise<void> {
    await this.attempt(async () => {
      const handout = await this.call(api.leaseNextGrid);
      if (this.phase.name !== 'working' || this.phase.board.subject.id !== lease) return;
      if (handout.lease?.id !== lease) return this.leave(t('moved_on'));
      const { board } = this.phase;
      const stored = handout.lease.draft;
      if (!stored || !this.drafts) return;
      const blank = { groups: board.current.groups.map(() => -1), descriptions: [] };
      board.takeOver(merge(this.drafts.base ?? blank, board.current, stored));
      this.drafts.heard(handout.lease.draft_version, stored);
      this.drafts.changed(board.work);
      this.notice = t('merged');
    });
  }

  private async draftRefused(error: ApiError): Promise<void> {
    if (GONE.has(error.code)) await this.leave(t('moved_on'));
  }

  private get doneKey(): string {
    return finishedKey(this.link);
  }
}

const SENTENCES: Record<string, Key> = {
  network: 'error_network',
  unknown_link: 'bad_link',
  internal_error: 'error_server',
};

function sentenceOf(error: unknown): string {
  if (!(error instanceof ApiError)) {
    console.error(error);
    return t('error_unknown');
  }
  const key = SENTENCES[error.code];
  return key ? t(key) : error.detail;
}
