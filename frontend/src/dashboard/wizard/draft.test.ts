import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Campaign } from '../../api/types';
import { asTyped, CampaignDraft, merged } from './draft.svelte';

describe('changes of a draft', () => {
  it('put the later over the earlier, nested settings field by field', () => {
    const refused = { name: 'A', annotation: { practice: 1, repeat_share: 10 } };
    expect(merged(refused, { annotation: { repeat_share: 0.1 }, budget: 5 })).toEqual({
      name: 'A',
      budget: 5,
      annotation: { practice: 1, repeat_share: 0.1 },
    });
  });

  it('drop settings of a strategy that was changed', () => {
    const refused = { settings: { n_factors: -1 }, budget: 8 };
    const changed = merged(refused, { strategy: 'crowdster', settings: {} });
    expect(changed).toEqual({ strategy: 'crowdster', settings: {}, budget: 8 });
    expect(merged(refused, { strategy: 'cen' }).settings).toEqual({});
  });

  it('keep the space that was just typed, and what the server made of all else', () => {
    const typed = { name: 'Birds', question: 'Which ', budget: 7 } as Campaign;
    const stored = { name: 'Birds (2)', question: 'Which', budget: 8 } as Campaign;
    expect(asTyped(stored, typed)).toEqual({ name: 'Birds (2)', question: 'Which ', budget: 8 });
  });
});

describe('saving a draft', () => {
  interface Sent {
    method: string;
    body: Promise<Record<string, unknown>>;
    keepalive: boolean;
    reply: (status: number) => Promise<unknown>;
  }
  let server: Record<string, unknown>;
  let sent: Sent[];
  let readable: boolean;
  let problemDetails: object;

  /** Plans are answered at once, changes and new drafts when a test says so. */
  function fetching(request: Request): Promise<Response> {
    const problem = { code: 'busy', detail: 'Too busy.', ...problemDetails };
    if (request.method === 'GET')
      return Promise.resolve(
        Response.json(readable ? {} : problem, { status: readable ? 200 : 503 }),
      );
    const { method, keepalive } = request;
    const body = request.json() as Promise<Record<string, unknown>>;
    return new Promise((resolve) => {
      const reply = async (status: number) => {
        const changes = await body;
        if (status < 300) server = { id: 'one', name: 'A', question: 'Q', ...server, ...changes };
        resolve(Response.json(status < 300 ? server : problem, { status }));
        return vi.advanceTimersByTimeAsync(0);
      };
      sent.push({ method, body, keepalive, reply });
    });
  }

  function draft(): CampaignDraft {
    const one = new CampaignDraft();
    one.campaign = { ...server, id: 'one', name: 'A', question: 'Q' } as unknown as Campaign;
    return one;
  }

  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal('fetch', fetching);
    vi.stubGlobal('history', { replaceState: vi.fn() });
    server = { grid_size: 24 };
    sent = [];
    readable = true;
    problemDetails = {};
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  const quiet = () => vi.advanceTimersByTimeAsync(400);

  it('never sends an older change after a newer one, also where the older was refused', async () => {
    const one = draft();
    one.change({ grid_size: 20 });
    await quiet();
    one.change({ grid_size: 9 });
    await quiet();
    await sent[0]?.reply(503);
    expect(one.error).toBe('Too busy.');
    await sent[1]?.reply(200);
    one.change({ budget: 8 });
    await quiet();
    await sent[2]?.reply(200);
    expect(server).toMatchObject({ grid_size: 9, budget: 8 });
    expect(one.campaign).toMatchObject({ grid_size: 9, budget: 8 });
  });

  it('never shows an older reply over what waits to be sent', async () => {
    const one = draft();
    one.change({ grid_size: 20 });
    await quiet();
    one.change({ grid_size: 9 });
    await quiet();
    await sent[0]?.reply(200);
    expect(one.campaign?.grid_size).toBe(9);
  });

  it('saves the others when one field is refused, and says which is not saved', async () => {
    const one = draft();
    one.unsaved.shown.set('rounds', 'Rounds');
    problemDetails = { code: 'bad_budget', fields: ['rounds'], words: 'Rounds: too many.' };
    one.change({ rounds: 90, budget: 40 });
    expect(one.saving).toBe(true);
    await quiet();
    await sent[0]?.reply(422);
    expect(await sent[1]?.body).toEqual({ budget: 40 });
    await sent[1]?.reply(200);
    expect(one.campaign).toMatchObject({ rounds: 90, budget: 40 });
    expect(one.unsaved.refused).toEqual({ rounds: 'Rounds: too many.' });
    expect(one.unsaved.status('Draft saved')).toBe('Not saved: Rounds');
    // The next change may put it right.
    one.change({ budget: 100 });
    await quiet();
    expect(await sent[2]?.body).toEqual({ rounds: 90, budget: 100 });
    await sent[2]?.reply(200);
    expect(one.unsaved.status('Draft saved')).toBe('Draft saved');
    expect(server).toMatchObject({ rounds: 90, budget: 100 });
  });

  it('is said of nothing that is still to be sent', async () => {
    const one = draft();
    one.change({ budget: 40 });
    expect([one.saving, one.saved]).toEqual([true, 0]);
    await quiet();
    await sent[0]?.reply(200);
    expect([one.saving, one.saved]).toEqual([false, 1]);
  });

  it('makes one draft of two clicks', async () => {
    const one = new CampaignDraft();
    one.options = { kinds: {}, strategies: [] } as unknown as typeof one.options;
    one.collections = [{ id: 'birds', name: 'Birds', n_images: 40 }] as typeof one.collections;
    void one.choose('birds');
    void one.choose('birds');
    await vi.advanceTimersByTimeAsync(0);
    await sent[0]?.reply(201);
    await quiet();
    expect(sent.map(({ method }) => method)).toEqual(['POST']);
  });

  it('lets the suggested budget follow images that arrive late, a chosen one never', async () => {
    const one = draft();
    const grown = { id: 'birds', name: 'Birds', n_images: 100 };
    vi.stubGlobal('fetch', (request: Request) =>
      request.url.endsWith('/collections/birds')
        ? Promise.resolve(Response.json(grown))
        : fetching(request),
    );
    const arriving = { ...grown, n_images: 81 };
    one.campaign = { ...one.campaign, collection_id: 'birds', budget: 60 } as Campaign;
    one.collections = [arriving] as typeof one.collections;
    void one.flush();
    await quiet();
    expect(await sent[0]?.body).toEqual({ collection_id: 'birds', budget: 70 });
    await sent[0]?.reply(200);
    one.change({ budget: 40 });
    one.collections = [arriving] as typeof one.collections;
    await quiet();
    expect(await sent[1]?.body).toEqual({ budget: 40 });
  });

  it('reads again what could not be read, and nothing stands in the way', async () => {
    const one = draft();
    readable = false;
    one.change({ budget: 9 });
    await quiet();
    await sent[0]?.reply(200);
    expect(one.error).toBe('Too busy.');
    readable = true;
    await one.flush();
    expect(one.error).toBe('');
    expect(sent).toHaveLength(1);
  });

  it('sends all that is not stored when the page goes away', async () => {
    const one = draft();
    one.change({ grid_size: 20 });
    await quiet();
    one.change({ budget: 9 });
    one.leave();
    expect(sent[1]?.keepalive).toBe(true);
    expect(await sent[1]?.body).toEqual({ grid_size: 20, budget: 9 });
  });
});
