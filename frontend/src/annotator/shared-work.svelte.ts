/** The grid at work as the annotator's other windows and devices share it: drafts and changes. */
import { ApiError } from '../api/errors';
import type { Lease } from '../api/types';
import * as api from './api';
import type { Board } from './board.svelte';
import { newBoard } from './kinds';
import { DraftSaver, isAhead, localDraft, resumeFrom, type SaveState } from './drafts';
import { type Draft, merge } from './grouping';
import type { Page } from './page.svelte';
import { type Message, otherWindows, type Windows } from './windows';

/** Codes of the server for a lease that is finished, or was given back. */
export const GONE = new Set(['already_submitted', 'lease_not_found', 'idempotency_mismatch']);

export class SharedWork {
  saveState: SaveState = $state('saved');
  private drafts: DraftSaver | null = null;
  private readonly windows: Windows;

  constructor(private readonly page: Page) {
    this.windows = otherWindows(page.place, (message) => void this.heard(message));
  }

  /** The board of a grid, as far as it was done here or on another device. */
  async begin(lease: Lease): Promise<Board> {
    const resumed = resumeFrom(lease, await localDraft(this.page.place));
    const drafts = new DraftSaver({
      place: this.page.place,
      lease: lease.id,
      version: resumed.version,
      save: (body) => this.saved(lease.id, body),
      onStale: () => void this.join(lease.id),
      onRefused: (error) => void this.refused(error),
      onState: (state) => (this.saveState = state),
    });
    const board = newBoard(this.page.session!.campaign, lease, resumed, ({ work, current }) => {
      this.page.submitError = '';
      drafts.changed(work);
      const draft = { groups: current.groups, descriptions: current.descriptions };
      this.windows.tell({ type: 'draft', lease: lease.id, draft });
    });
    this.drafts = drafts;
    this.saveState = 'saved';
    return board;
  }

  /**
   * Work on a grid that this browser did without a connection, and whose lease has run out since:
   * the server takes it, and then hands that grid out again.
   */
  async bringBack(lease: string | undefined): Promise<boolean> {
    const local = await localDraft(this.page.place);
    if (local === null || local.lease === lease || !isAhead(local)) return false;
    const groups = [...local.groups];
    const body = { version: local.version + 1, groups, descriptions: [...local.descriptions] };
    try {
      await this.page.call((token) => api.saveDraft(token, local.lease, body));
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // It was finished, or given back: nothing of it is missing.
      return false;
    }
  }

  /** Saves what is pending, before the page is left or hidden. */
  flush(): void {
    void this.drafts?.flush();
  }

  /** Saves nothing more, as the grid is about to be submitted or given back. */
  close(): void {
    this.drafts?.close();
  }

  /** It was not: goes on saving. */
  reopen(): void {
    this.drafts?.reopen();
  }

  /** Nothing of the grid is kept here any more. */
  async forget(): Promise<void> {
    const left = this.drafts;
    this.drafts = null;
    await left?.forget();
  }

  tellFinished(lease: string): void {
    this.windows.tell({ type: 'finished', lease });
  }

  private async saved(lease: string, body: Draft & { version: number }): Promise<void> {
    const { groups, descriptions, version } = body;
    const sent = { version, groups: [...groups], descriptions: [...descriptions] };
    await this.page.saveDraft(lease, sent);
    this.windows.tell({ type: 'saved', lease, version, base: { groups, descriptions } });
  }

  private async heard(message: Message): Promise<void> {
    const { phase } = this.page;
    if (phase.name !== 'working' || this.page.submitting) return;
    if (phase.board.subject.id !== message.lease) return;
    if (message.type === 'draft') {
      phase.board.takeOver(message.draft);
      this.drafts?.adopted(phase.board.work);
    } else if (message.type === 'saved') this.drafts?.heard(message.version, message.base);
    else {
      this.drafts?.close();
      await this.page.leave({ key: 'moved_on' });
    }
  }

  /** Another device has saved a draft of this grid: take in what it changed, and save both. */
  private async join(lease: string): Promise<void> {
    await this.page.attempt(async () => {
      const handout = await this.page.call(api.leaseNextGrid);
      const { phase } = this.page;
      if (phase.name !== 'working' || phase.board.subject.id !== lease) return;
      if (handout.lease?.id !== lease) return this.page.leave({ key: 'moved_on' });
      const { board } = phase;
      const stored = handout.lease.draft;
      if (!stored || !this.drafts) return;
      const blank = { groups: board.current.groups.map(() => -1), descriptions: [] };
      board.takeOver(merge(this.drafts.base ?? blank, board.current, stored));
      this.drafts.heard(handout.lease.draft_version, stored);
      this.drafts.changed(board.work);
      this.page.notice = { key: 'merged' };
    });
  }

  private async refused(error: ApiError): Promise<void> {
    if (GONE.has(error.code)) await this.page.leave({ key: 'moved_on' });
    else this.page.showRefusal(error);
  }
}
