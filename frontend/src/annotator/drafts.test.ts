import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../api/client';
import { DraftSaver, localDraft, resumeFrom } from './drafts';

const mine = { groups: [0, 1], descriptions: ['red', 'blue'] };
const stored = { groups: [0, -1], descriptions: ['red'] };
const lease = { id: 'one', draft: stored, draft_version: 3 };

describe('resumeFrom', () => {
  it('prefers the copy that is ahead', () => {
    const local = { ...mine, lease: 'one', version: 3, elapsed: 500 };
    expect(resumeFrom(lease, local)).toMatchObject({ draft: mine, version: 3, elapsed: 500 });
    expect(resumeFrom(lease, { ...local, version: 2 })).toMatchObject({
      draft: stored,
      version: 3,
    });
  });

  it('ignores the copy of another lease', () => {
    const local = { ...mine, lease: 'two', version: 9, elapsed: 1 };
    expect(resumeFrom(lease, local)).toEqual({ draft: stored, version: 3, elapsed: 0 });
    expect(resumeFrom(lease, null).draft).toBe(stored);
  });
});

describe('DraftSaver', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('saves the last of many changes once, and keeps a copy at once', async () => {
    const save = vi.fn().mockResolvedValue(undefined);
    const drafts = new DraftSaver('link', 'one', 3, save, vi.fn());
    drafts.changed(stored, 1);
    drafts.changed(mine, 2);
    expect(localDraft('link')).toEqual({ lease: 'one', version: 3, elapsed: 2, ...mine });
    await vi.runAllTimersAsync();
    expect(save.mock.calls).toEqual([[{ version: 4, ...mine }]]);
    expect(localDraft('link')?.version).toBe(4);
    drafts.forget();
    expect(localDraft('link')).toBeNull();
  });

  it('tells of a refusal, not of a lost connection, and of nothing once closed', async () => {
    const refusal = new ApiError('lease_not_found', 404, 'gone');
    const save = vi.fn().mockRejectedValueOnce(new ApiError('network', 0, 'offline'));
    save.mockRejectedValue(refusal);
    const onRefused = vi.fn();
    const drafts = new DraftSaver('link', 'one', 0, save, onRefused);
    for (const draft of [mine, stored]) {
      drafts.changed(draft, 0);
      await vi.runAllTimersAsync();
    }
    expect(save.mock.calls.map(([body]) => body.version)).toEqual([1, 2]);
    expect(onRefused.mock.calls).toEqual([[refusal]]);
    drafts.close();
    drafts.changed(mine, 0);
    await vi.runAllTimersAsync();
    expect(save).toHaveBeenCalledTimes(2);
  });
});
