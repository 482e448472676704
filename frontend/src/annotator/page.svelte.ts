/** The page's life: session, what comes before the grids, and grids one after the other. */
import { tick } from 'svelte';
import { ApiError } from '../api/errors';
import type { AnswerOut, DraftIn, Handout, Lease, Session, StageState, Step } from '../api/types';
import type { HeadStart } from '../head-start';
import { Access } from './access.svelte';
import * as api from './api';
import type { Arrival } from './arrival';
import { Board } from './board.svelte';
import { dropDraft, type SaveState } from './drafts';
import { Ending } from './ending.svelte';
import { noteFinished, noteUnderway, shownFirst } from './finished';
import { type Finished, finishedKey, isSomebodyElse, randomId, settleKey } from './identity';
import { dropOutgoing, keepOutgoing, outgoing, type Outgoing } from './outbox';
import { Pace } from './pace.svelte';
import { Painter } from './painter';
import type { Phase } from './phase';
import { practise } from './practice.svelte';
import { Presence } from './presence';
import { ask } from './questions.svelte';
import { isPassing, PASSING, passwordProblem, refusalOf, STARTS_OVER } from './refusals';
import { withRetries } from './retry';
import { sentenceOf } from './sentences';
import { GONE, SharedWork } from './shared-work.svelte';
import { noted } from './notes';
import { type Notice, t } from './texts';
import { notedWayBack, noteWayBack } from './wayback';
import { rememberWords } from './words';

export class Page {
  phase: Phase = $state.raw({ name: 'loading' });
  stage: StageState | null = $state.raw(null);
  answered = $state(0);
  target = $state(0);
  secondsSpent = $state(0);
  /** For grids beyond the assignment's own, once one was taken on. */
  bonus: Handout['bonus'] = $state.raw(null);
  /** How many sets the last answer made it, once one was sent from this page. */
  sentSets = $state(0);
  /** Something that happened which the annotator should know about. */
  notice: Notice | null = $state.raw(null);
  submitting = $state(false);
  submitError = $state('');
  /** Leftovers were explained once; they need no more confirmation. */
  knowsLeftovers = false;
  readonly pace = new Pace();

  private readonly access: Access;
  private readonly painter: Painter;
  readonly shared: SharedWork;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** How often in a row a session was refused for now. */
  private refusals = 0;

  constructor(readonly arrival: Arrival) {
    this.access = new Access(arrival, (session, early) => this.opened(session, early));
    this.painter = new Painter(this.access, (board) => this.isAt(board));
    this.shared = new SharedWork(this);
  }

  get session(): Session | null {
    return this.access.session;
  }

  /** What this browser keeps is kept under it. */
  get place(): string {
    return this.arrival.place;
  }

  get saveState(): SaveState {
    return this.shared.saveState;
  }

  get isOnPlatform(): boolean {
    return this.arrival.channel !== 'link';
  }

  /** The name of the platform; empty behind links. */
  get platform(): string {
    return this.arrival.platform;
  }

  /** Opens the page: a finished assignment shows its code again instead of starting another. */
  async start(): Promise<void> {
    if (this.isOnPlatform) {
      // What is done and what is not is for the server to say.
      new Presence((left) => this.tellPresence(left)).start();
      return this.enter();
    }
    if (isSomebodyElse(this.place)) {
      this.phase = { name: 'somebody-else' };
      return;
    }
    settleKey(this.place, true);
    const finished = shownFirst(this.doneKey);
    const back = notedWayBack(this.place);
    // The server says whether somebody is still stopped, and where they go from a new tab.
    if (finished && !finished.stopped && !(finished.returns && back === null)) {
      this.phase = { name: 'done', finished, stopped: false, back };
    } else await this.enter();
  }

  /** The address is another annotator's: go on in their place, or as oneself. */
  async settle(takeBrought: boolean): Promise<void> {
    if (takeBrought) {
      await dropOutgoing(this.place);
      await dropDraft(this.place);
    }
    settleKey(this.place, takeBrought);
    await this.start();
  }

  async doMore(): Promise<void> {
    this.access.session = null;
    this.notice = null;
    await this.enter();
  }

  async enterWith(password: string): Promise<void> {
    this.access.password = password;
    await this.enter();
  }

  /** Opens the session and shows what comes first. */
  async enter(): Promise<void> {
    clearTimeout(this.timer);
    this.phase = { name: 'loading' };
    await this.attempt(async () => {
      const left = await outgoing(this.place);
      const session = await withRetries(() => this.access.open(), {
        ...this.whileRetrying,
        isPassing,
      });
      const isSent = left !== null && (await this.deliver(left)) !== null;
      if (isSent) this.notice = { key: 'sent_earlier' };
      const isBack = await this.shared.bringBack(session.next?.lease?.id);
      if (left === null && !isBack && session.next) return this.show(session.next);
      await this.advance(session);
    });
  }

  /** Agreed, or read. */
  async take(step: Step): Promise<void> {
    this.submitting = true;
    await this.attempt(async () => {
      const key = this.session!.campaign.consent_key;
      await this.advance(await this.call((token) => api.takeStep(token, step, key)));
    });
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
    else if (stage.stage === 'practice') this.phase = await practise(this);
    else if (stage.stage === 'questions') this.phase = await ask(this, 'before');
    else this.phase = { name: stage.stage };
  }

  async submit(): Promise<void> {
    if (this.phase.name !== 'working' || this.submitting) return;
    const { board } = this.phase;
    this.submitting = true;
    this.submitError = '';
    this.notice = null;
    this.shared.close();
    try {
      const body = board.answer();
      const reply = await this.deliver({ lease: board.subject.id, key: randomId(), body });
      if (reply) this.sentSets = this.answered;
      if (body.elapsed_ms) this.pace.add(body.elapsed_ms);
      void rememberWords(this.place, body.descriptions ?? []);
      await this.leave(reply ? null : { key: 'moved_on' }, reply?.next);
    } catch (error) {
      if (this.showRefusal(error)) return;
      // Refused for good, as it stands: the answer stays on the page, to be changed or skipped.
      this.submitError = `${sentenceOf(error)} ${t('keep_open')}`;
      this.shared.reopen();
    } finally {
      this.submitting = false;
    }
  }

  async skip(why: string): Promise<void> {
    if (this.phase.name !== 'working') return;
    const lease = this.phase.board.subject.id;
    this.shared.close();
    await this.attempt(async () => {
      try {
        await this.call((token) => api.returnLease(token, lease, why));
      } catch (error) {
        // The last one was skipped in another tab.
        if (!(error instanceof ApiError && error.code === 'no_more_skips')) throw error;
        this.shared.reopen();
        this.notice = { key: 'no_more_skips' };
        return;
      }
      await this.leave();
    });
  }

  /** Saves what is pending, before the page is left or hidden. */
  saveNow(): void {
    this.shared.flush();
  }

  noteVisible(visible: boolean): void {
    if (this.phase.name === 'working') this.phase.board.note(visible ? 'v' : 'h');
  }

  /** One call to the server, repeated while the connection is away. */
  call<T>(operation: (token: string) => Promise<T>): Promise<T> {
    return withRetries(() => this.access.authorised(operation), this.whileRetrying);
  }

  private readonly whileRetrying = {
    onRetry: (error: ApiError) => {
      const offline = error.status === 0;
      if (this.submitting) this.submitError = t(offline ? 'offline' : 'retrying');
      else this.notice = { key: offline ? 'offline' : 'error_server' };
    },
  };

  /** Does something; what cannot be helped is shown instead. True when it was done. */
  async attempt(action: () => Promise<void> | void): Promise<boolean> {
    try {
      await action();
      if (this.notice && PASSING.has(this.notice.key)) this.notice = null;
      return true;
    } catch (error) {
      if (error instanceof ApiError && STARTS_OVER.has(error.code)) {
        await this.enter();
        this.notice = STARTS_OVER.get(error.code) ?? null;
      } else if (!this.showRefusal(error)) {
        this.phase = { name: 'error', sentence: sentenceOf(error) };
      }
      return false;
    }
  }

  /** What the server refuses who comes is a page of its own; false where it is none. */
  showRefusal(error: unknown): boolean {
    const problem = this.isOnPlatform ? null : passwordProblem(error);
    if (problem !== null) {
      this.notice = null;
      this.phase = { name: 'password', problem };
      return true;
    }
    const refusal = refusalOf(error, this.refusals);
    if (refusal === null) return false;
    this.refusals += 1;
    this.shared.close();
    this.notice = null;
    this.phase = { name: 'refused', refusal };
    return true;
  }

  private tellPresence(left: boolean): void {
    if (this.phase.name !== 'refused') void this.access.tellPresence(left);
  }

  /** Sends an answer until it is acknowledged; null when the server had one of this grid already. */
  private async deliver(answer: Outgoing): Promise<AnswerOut | null> {
    await keepOutgoing(this.place, answer);
    let reply: AnswerOut | null = null;
    try {
      reply = await this.call((token) =>
        api.submitAnswer(token, answer.lease, answer.key, answer.body),
      );
      // In one step: no count may run ahead of the grid that is shown.
      this.phase = { name: 'loading' };
      this.answered = reply.answered;
      this.target = reply.target;
      this.secondsSpent = reply.seconds_spent;
    } catch (error) {
      if (!(error instanceof ApiError && GONE.has(error.code))) {
        await dropOutgoing(this.place);
        throw error;
      }
    }
    // Sent once more after a crash now, it would be the same answer still.
    void dropOutgoing(this.place);
    this.shared.tellFinished(answer.lease);
    return reply;
  }

  /** To the next grid, which a submission may have brought. */
  async leave(notice: Notice | null = null, next: Handout | null = null): Promise<void> {
    this.submitError = '';
    this.notice = notice;
    await this.shared.forget();
    if (next === null) await this.next();
    else await this.attempt(() => this.show(next));
  }

  private opened(session: Session, early: HeadStart | null): void {
    this.refusals = 0;
    this.stage = session;
    this.answered = session.answered;
    this.target = session.target;
    this.secondsSpent = session.seconds_spent;
    noteUnderway(this.doneKey);
    const lease = session.next?.lease;
    if (lease && early?.images) this.painter.expect(lease.id, early.images);
  }

  async show(handout: Handout): Promise<void> {
    this.answered = handout.answered;
    this.target = handout.target;
    this.bonus = handout.bonus ?? null;
    if (handout.status === 'leased' && handout.lease) await this.work(handout.lease);
    else if (handout.status === 'done' || handout.status === 'stopped') this.finish(handout);
    else if (handout.status === 'questions') this.phase = await ask(this, 'after');
    else if (handout.status === 'warning') this.phase = { name: 'warning' };
    else {
      this.phase = { name: handout.status === 'paused' ? 'paused' : 'waiting' };
      const wait = 1000 * Math.max(1, handout.retry_after_seconds ?? 3);
      this.timer = setTimeout(() => void this.next(), wait);
    }
  }

  private async work(lease: Lease): Promise<void> {
    const board = await this.shared.begin(lease);
    this.phase = { name: 'working', board };
    this.painter.keepOnly(lease.id);
    // How large the images are is known once they are laid out.
    await tick();
    // Not waited for: the grid takes clicks while its pictures come.
    void this.painter.paint(board);
  }

  /** Keeps a draft on the server; not repeated, as the next one replaces it. */
  async saveDraft(lease: string, body: DraftIn): Promise<void> {
    await this.access.authorised((token) => api.saveDraft(token, lease, body));
  }

  private isAt(board: Board): boolean {
    return this.phase.name === 'working' && this.phase.board === board;
  }

  finish(handout: Handout): void {
    const stopped = handout.status === 'stopped';
    const handIn = this.session?.hand_in;
    if (this.isOnPlatform && handIn && handout.answered > 0) {
      const ending = new Ending(this, handIn, handout, stopped);
      return void (this.phase = { name: 'ending', ending });
    }
    const { finished, isNothingNew } = noteFinished(this.doneKey, handout, this.session);
    if (isNothingNew) this.notice = { key: 'nothing_text' };
    const back = noteWayBack(this.place, handout.return_address ?? null);
    this.phase = { name: 'done', finished, stopped, back };
  }

  /** What this browser's person finished here the last time. */
  get finished(): Finished | null {
    return this.isOnPlatform ? null : noted<Finished>(this.doneKey);
  }

  private get doneKey(): string {
    return finishedKey(this.place);
  }
}
