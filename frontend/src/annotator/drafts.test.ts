import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../api/errors';
import { DraftSaver, localDraft, resumeFrom } from './drafts';

const mine = { groups: [0, 1], descriptions: ['red', 'blue'] };
const stored = { groups: [0, -1], descriptions: ['red'] };
const lease = { id: 'one', draft: stored, draft_version: 3 };

describe('resumeFrom', () => {
  const local = { ...mine, lease: 'one', version: 3, elapsed: 500 };

  it('prefers the copy of this browser where no other has saved since', () => {
    expect(resumeFrom(lease, local)).toMatchObject({ version: 3, elapsed: 500 });
    expect(resumeFrom(lease, local).draft).toMatchObject(mine);
  });

  it('joins both where another device was ahead', () => {
    const behind = {
      ...local,
      version: 2,
      groups: [-1, 1],
      base: { groups: [-1, -1], descriptions: [] },
    };
    const resumed = resumeFrom(lease, behind);
    expect(resumed.version).toBe(3);
    expect(resumed.draft?.groups).toEqual([0, 1]);
  });

  it('ignores the copy of another lease', () => {
    const other = { ...mine, lease: 'two', version: 9, elapsed: 1 };
    expect(resumeFrom(lease, other)).toEqual({ draft: stored, version: 3, elapsed: 0, trace: [] });
    expect(resumeFrom(lease, null).draft).toBe(stored);
  });
});

describe('DraftSaver', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const work = (draft: typeof mine) => ({ draft, elapsed: 2, trace: [] });

  function saver(save: () => Promise<unknown>, version = 3) {
    const handlers = { onStale: vi.fn(), onRefused: vi.fn(), onState: vi.fn() };
    return {
      handlers,
      drafts: new DraftSaver({ place: 'link', lease: 'one', version, save, ...handlers }),
    };
  }

  it('saves the last of many changes once, and keeps a copy at once', async () => {
    const save = vi.fn().mockResolvedValue(undefined);
    const { drafts, handlers } = saver(save);
    drafts.changed(work({ ...stored }));
    drafts.changed(work(mine));
    expect(await localDraft('link')).toMatchObject({ lease: 'one', version: 3, ...mine });
    await vi.runAllTimersAsync();
    expect(save.mock.calls).toEqual([[{ version: 4, ...mine }]]);
    expect((await localDraft('link'))?.version).toBe(4);
    expect(handlers.onState).toHaveBeenLastCalledWith('saved');
    await drafts.forget();
    expect(await localDraft('link')).toBeNull();
  });

  it('tries again by itself when the connection was lost', async () => {
    const save = vi.fn().mockRejectedValueOnce(new ApiError('network', 0, 'offline'));
    save.mockResolvedValue(undefined);
    const { drafts, handlers } = saver(save);
    drafts.changed(work(mine));
    await vi.advanceTimersByTimeAsync(650);
    expect(handlers.onState).toHaveBeenLastCalledWith('local');
    await vi.runAllTimersAsync();
    expect(save).toHaveBeenCalledTimes(2);
    expect(handlers.onState).toHaveBeenLastCalledWith('saved');
  });

  it('asks for the newer draft of another device, and tells of a refusal', async () => {
    const save = vi.fn().mockRejectedValueOnce(new ApiError('stale_draft', 409, 'newer'));
    save.mockRejectedValue(new ApiError('lease_not_found', 404, 'gone'));
    const { drafts, handlers } = saver(save);
    drafts.changed(work(mine));
    await vi.runAllTimersAsync();
    expect(handlers.onStale).toHaveBeenCalledOnce();
    expect((await localDraft('link'))?.version).toBe(3);
    drafts.heard(7, stored);
    drafts.changed(work({ ...stored }));
    await vi.runAllTimersAsync();
    expect(save).toHaveBeenLastCalledWith({ version: 8, ...stored });
    expect(handlers.onRefused).toHaveBeenCalledOnce();
  });

  it('sends nothing once closed', async () => {
    const save = vi.fn().mockResolvedValue(undefined);
    const { drafts } = saver(save);
    drafts.close();
    drafts.changed(work(mine));
    await vi.runAllTimersAsync();
    expect(save).not.toHaveBeenCalled();
  });
});
