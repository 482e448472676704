import { afterEach, expect, it, vi } from 'vitest';
import { Layouts } from './layout';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const CAMPAIGN = `${location.origin}/api/v1/campaigns/c`;
const EMPTY = new Uint8Array([0x4c, 0x57, 0x4d, 0x31, 0, 0, 0, 0]);
const BUSY = { code: 'busy', detail: 'The server is computing for others.' };

/** A server that is busy for some requests, and the addresses it is asked for. */
function aServer(nBusy = 0) {
  const asked: string[] = [];
  vi.stubGlobal('fetch', async ({ url }: Request) => {
    asked.push(url.slice(CAMPAIGN.length));
    if (asked.length <= nBusy) return new Response(JSON.stringify(BUSY), { status: 503 });
    return new Response(EMPTY);
  });
  return asked;
}

it('keeps both layouts of a model apart, and asks for each once', async () => {
  const asked = aServer();
  const layouts = new Layouts('c');
  const axes = await layouts.load({ version: 2, method: 'pca' });
  const tsne = await layouts.load({ version: 2, method: 'tsne' });
  expect([axes?.method, tsne?.method]).toEqual(['pca', 'tsne']);
  expect(await layouts.load({ version: 2, method: 'tsne' })).toBe(tsne);
  expect(asked).toEqual(['/models/2/map/layout', '/models/2/map/layout?method=tsne']);
});

it('asks a busy server again, as long as the layout is wanted', async () => {
  vi.useFakeTimers();
  const asked = aServer(2);
  const loading = new Layouts('c').load({ version: 1, method: 'tsne' });
  await vi.runAllTimersAsync();
  expect((await loading)?.version).toBe(1);
  expect(asked).toHaveLength(3);
  const given = aServer(9);
  const unwanted = new Layouts('c').load({ version: 1, method: 'tsne' }, () => false);
  await vi.runAllTimersAsync();
  expect(await unwanted).toBeNull();
  expect(given).toHaveLength(1);
});
