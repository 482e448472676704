import { afterEach, expect, it, vi } from 'vitest';
import { allItems, api, at, campaignApi, modelApi, reply } from './client';
import { ApiError } from './errors';

afterEach(() => void vi.unstubAllGlobals());

/** A server that replies so, and the requests that came. */
function replying(respond: () => Promise<Response>): Request[] {
  const requests: Request[] = [];
  vi.stubGlobal('fetch', (request: Request) => {
    requests.push(request);
    return respond();
  });
  return requests;
}

it('fills in paths, sends JSON and reads JSON', async () => {
  const [state, body] = [{ state: 'running' }, { images: [1] }];
  const requests = replying(async () => Response.json(state));
  const started = await reply(campaignApi('c').POST('/actions/{action}', at({ action: 'start' })));
  expect(started).toEqual(state);
  await reply(campaignApi('c').POST('/focus', { body }));
  expect(requests.map(({ url }) => new URL(url).pathname)).toEqual([
    '/api/v1/campaigns/c/actions/start',
    '/api/v1/campaigns/c/focus',
  ]);
  expect(await requests[1]?.json()).toEqual(body);
});

it('turns problem+json into an ApiError', async () => {
  const problem = { code: 'stale_draft', detail: 'Too old.' };
  replying(async () => Response.json(problem, { status: 409 }));
  const error = await reply(api().GET('/options')).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ ...problem, status: 409, temporary: false });
});

it('knows what may pass: no reply, half a reply, and errors without a problem', async () => {
  const asked = () => reply(api().GET('/options'));
  replying(async () => Promise.reject(new TypeError('failed')));
  await expect(asked()).rejects.toMatchObject({ code: 'network', temporary: true });
  replying(async () => new Response('{"kinds":'));
  await expect(asked()).rejects.toMatchObject({ code: 'network', temporary: true });
  replying(async () => new Response('<h1>Bad gateway</h1>', { status: 502 }));
  await expect(asked()).rejects.toMatchObject({ code: 'http_502', temporary: true });
});

it('returns nothing for 204', async () => {
  replying(async () => new Response(null, { status: 204 }));
  await expect(reply(campaignApi('c').DELETE(''))).resolves.toBeUndefined();
});

it('reads bytes', async () => {
  replying(async () => new Response(new Uint8Array([1, 2])));
  const bytes = await reply(modelApi('c', 1).GET('/map/layout', { parseAs: 'arrayBuffer' }));
  expect(bytes.byteLength).toBe(2);
});

it('reads a list to its end', async () => {
  const pages = [
    { items: [1, 2], next: 'a+b' },
    { items: [3], next: null },
  ];
  const requests = replying(async () => Response.json(pages.shift()));
  const items = await allItems((query) => api().GET('/collections', { params: { query } }));
  expect(items).toEqual([1, 2, 3]);
  expect(requests.map(({ url }) => new URL(url).search)).toEqual([
    '?limit=1000',
    '?limit=1000&after=a%2Bb',
  ]);
});
