/** Unfinished grids: a copy in the browser at once, one on the server a moment later. */
import { ApiError } from '../api/client';
import type { Lease } from '../api/types';
import type { Draft } from './grouping';
import { forget, recall, remember } from './storage';

export interface LocalDraft extends Draft {
  readonly lease: string;
  /** Version of the last draft sent to the server. */
  readonly version: number;
  readonly elapsed: number;
}

export interface Resumed {
  readonly draft: Draft | null;
  readonly version: number;
  readonly elapsed: number;
}

/** The newer of the browser's and the server's draft; the browser may be ahead of its last save. */
export function resumeFrom(
  lease: Pick<Lease, 'id' | 'draft' | 'draft_version'>,
  local: LocalDraft | null,
): Resumed {
  const stored = lease.draft_version ?? 0;
  if (local === null || local.lease !== lease.id) {
    return { draft: lease.draft ?? null, version: stored, elapsed: 0 };
  }
  if (local.version >= stored)
    return { draft: local, version: local.version, elapsed: local.elapsed };
  return { draft: lease.draft ?? null, version: stored, elapsed: local.elapsed };
}

export function localDraft(link: string): LocalDraft | null {
  return recall<LocalDraft>(draftKey(link));
}

const draftKey = (link: string) => `likewise:draft:${link}`;
const DELAY = 800;

type Save = (body: {
  version: number;
  groups: number[];
  descriptions: string[];
}) => Promise<unknown>;

/** Saves the drafts of one lease, the server's copy after a pause in the work. */
export class DraftSaver {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private latest: { draft: Draft; elapsed: number } | null = null;
  private closed = false;

  constructor(
    private readonly link: string,
    private readonly lease: string,
    private version: number,
    private readonly save: Save,
    private readonly onRefused: (error: ApiError) => void,
  ) {}

  changed(draft: Draft, elapsed: number): void {
    if (this.closed) return;
    this.latest = { draft, elapsed };
    this.keepLocally();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.flush(), DELAY);
  }

  /** Sends what has not been sent yet. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    if (this.closed || this.latest === null) return;
    const { groups, descriptions } = this.latest.draft;
    // A new number for each attempt: a reply may be lost after the server stored the draft.
    this.version += 1;
    this.keepLocally();
    this.latest = null;
    try {
      await this.save({
        version: this.version,
        groups: [...groups],
        descriptions: [...descriptions],
      });
    } catch (error) {
      // Without a connection the browser's copy is enough until the next change.
      if (!this.closed && error instanceof ApiError && !error.temporary) this.onRefused(error);
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
  }

  forget(): void {
    this.close();
    forget(draftKey(this.link));
  }

  private keepLocally(): void {
    if (this.latest === null) return;
    const { draft, elapsed } = this.latest;
    const { groups, descriptions } = draft;
    const { lease, version } = this;
    remember(draftKey(this.link), { lease, version, elapsed, groups, descriptions });
  }
}
