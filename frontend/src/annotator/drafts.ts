/** Unfinished grids: a copy in the browser at once, one on the server a moment later. */
import { ApiError } from '../api/errors';
import type { Lease } from '../api/types';
import { type Draft, merge } from './grouping';
import { backoff } from './retry';
import { forget, recall, remember } from './storage';
import type { TraceEvent } from './trace';

export interface LocalDraft extends Draft {
  readonly lease: string;
  /** Version of the last draft sent to the server. */
  readonly version: number;
  readonly elapsed: number;
  /** The last draft that the server is known to hold. */
  readonly base?: Draft | null;
  readonly trace?: readonly TraceEvent[];
}

export interface Resumed {
  readonly draft: Draft | null;
  readonly version: number;
  readonly elapsed: number;
  readonly trace: readonly TraceEvent[];
}

/** The browser's draft, the server's, or both joined where another device was ahead. */
export function resumeFrom(
  lease: Pick<Lease, 'id' | 'draft' | 'draft_version'>,
  local: LocalDraft | null,
): Resumed {
  const version = lease.draft_version;
  const stored = lease.draft ?? null;
  if (local === null || local.lease !== lease.id) {
    return { draft: stored, version, elapsed: 0, trace: [] };
  }
  const { elapsed, trace = [] } = local;
  if (local.version >= version || stored === null) {
    return { draft: local, version: Math.max(version, local.version), elapsed, trace };
  }
  const base = local.base ?? { groups: local.groups.map(() => -1), descriptions: [] };
  const joined = merge(base, local, stored);
  // Mostly it was this browser that saved last, and only did not hear of it: steps can be undone.
  const { past = [], future = [], lent = [] } = local;
  const mine = joined.groups.every((group, k) => group === local.groups[k]);
  return { draft: mine ? { ...joined, past, future, lent } : joined, version, elapsed, trace };
}

/** Whether the server may lack something of this draft. */
export function isAhead(local: LocalDraft): boolean {
  const { base } = local;
  return !base || !local.groups.every((group, k) => group === base.groups[k]);
}

export function localDraft(place: string): Promise<LocalDraft | null> {
  return recall<LocalDraft>(draftKey(place));
}

export function dropDraft(place: string): Promise<void> {
  return forget(draftKey(place));
}

const draftKey = (place: string) => `draft:${place}`;
const DELAY = 600;

export type SaveState = 'saved' | 'saving' | 'local';

interface Body {
  version: number;
  groups: number[];
  descriptions: string[];
}

export interface SaverOptions {
  place: string;
  lease: string;
  version: number;
  save: (body: Body) => Promise<unknown>;
  /** Another window or device has stored a newer draft. */
  onStale: () => void;
  /** The server wants no drafts of this grid any more. */
  onRefused: (error: ApiError) => void;
  onState: (state: SaveState) => void;
}

interface Work {
  readonly draft: Draft;
  readonly elapsed: number;
  readonly trace: readonly TraceEvent[];
}

/** Saves the drafts of one lease, the server's copy after a pause in the work. */
export class DraftSaver {
  version: number;
  base: Draft | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private latest: Work | null = null;
  private unsent = false;
  private closed = false;
  private failures = 0;

  constructor(private readonly options: SaverOptions) {
    this.version = options.version;
  }

  changed(work: Work): void {
    if (this.closed) return;
    this.latest = work;
    this.unsent = true;
    this.keepLocally();
    this.options.onState('saving');
    this.schedule(DELAY);
  }

  /** What another window did, so that this one's next save holds it, too. */
  adopted(work: Work): void {
    if (!this.closed) this.latest = work;
  }

  /** Another window has saved: its numbers are known here, too. */
  heard(version: number, base: Draft): void {
    if (version <= this.version) return;
    this.version = version;
    this.base = base;
  }

  /** Sends what has not been sent yet. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    if (this.closed || this.latest === null || !this.unsent) return;
    const groups = [...this.latest.draft.groups];
    const descriptions = [...this.latest.draft.descriptions];
    // A new number for each attempt: a reply may be lost after the server stored the draft.
    this.version += 1;
    this.unsent = false;
    this.keepLocally();
    try {
      await this.options.save({ version: this.version, groups, descriptions });
      this.failures = 0;
      this.base = { groups, descriptions };
      if (!this.unsent) this.options.onState('saved');
    } catch (error) {
      if (this.closed) return;
      if (!(error instanceof ApiError)) throw error;
      this.failed(error);
    }
  }

  /** No more saves: the answer is on its way. */
  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }

  /** Back to saving after an answer could not be sent. */
  reopen(): void {
    this.closed = false;
    if (this.unsent) this.schedule(DELAY);
  }

  async forget(): Promise<void> {
    this.close();
    const kept = await localDraft(this.options.place);
    // Another window may have begun the next grid already.
    if (kept?.lease === this.options.lease) await forget(draftKey(this.options.place));
  }

  private failed(error: ApiError): void {
    this.unsent = true;
    if (error.temporary) {
      this.failures += 1;
      this.options.onState('local');
      this.schedule(backoff(this.failures));
    } else if (error.code === 'stale_draft') {
      // The number belongs to somebody else's draft: after a reload, too, the two are to be joined.
      this.version -= 1;
      this.keepLocally();
      this.options.onStale();
    } else {
      this.options.onState('local');
      this.options.onRefused(error);
    }
  }

  private schedule(milliseconds: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.flush(), milliseconds);
  }

  private keepLocally(): void {
    if (this.latest === null) return;
    const { draft, elapsed, trace } = this.latest;
    const { groups, descriptions, past = [], future = [], lent = [] } = draft;
    const kept: LocalDraft = {
      lease: this.options.lease,
      version: this.version,
      base: this.base,
      elapsed,
      groups,
      descriptions,
      past,
      future,
      lent,
      trace: [...trace],
    };
    void remember(draftKey(this.options.place), kept);
  }
}
