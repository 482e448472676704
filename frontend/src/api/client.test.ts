import { afterEach, expect, it, vi } from 'vitest';
import { ApiError, request, requestAll } from './client';

afterEach(() => void vi.unstubAllGlobals());

function replying(reply: () => Promise<Response>) {
  const fetch = vi.fn(reply);
  vi.stubGlobal('fetch', fetch);
  return fetch as unknown as { mock: { calls: [string, RequestInit][] } };
}

it('sends JSON with the bearer token and reads JSON', async () => {
  const fetch = replying(async () => Response.json({ status: 'wait' }));
  const reply = await request('/api/x', { method: 'POST', body: { a: 1 }, token: 'secret' });
  expect(reply).toEqual({ status: 'wait' });
  const init = fetch.mock.calls[0]![1];
  expect(init.body).toBe('{"a":1}');
  expect(new Headers(init.headers).get('Authorization')).toBe('Bearer secret');
});

it('turns problem+json into an ApiError', async () => {
  const problem = { code: 'stale_draft', detail: 'Too old.' };
  replying(async () => Response.json(problem, { status: 409 }));
  const error = await request('/api/x').catch((e: unknown) => e);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ ...problem, status: 409, temporary: false });
});

it('knows what may pass: no reply, and errors without a problem', async () => {
  replying(async () => Promise.reject(new TypeError('failed')));
  await expect(request('/api/x')).rejects.toMatchObject({ code: 'network', temporary: true });
  replying(async () => new Response('<h1>Bad gateway</h1>', { status: 502 }));
  await expect(request('/api/x')).rejects.toMatchObject({ code: 'http_502', temporary: true });
});

it('returns nothing for 204', async () => {
  replying(async () => new Response(null, { status: 204 }));
  await expect(request('/api/x')).resolves.toBeUndefined();
});

it('reads a list to its end', async () => {
  const pages = [
    { items: [1, 2], next: 'a+b' },
    { items: [3], next: null },
  ];
  const fetch = replying(async () => Response.json(pages.shift()));
  await expect(requestAll('/api/x')).resolves.toEqual([1, 2, 3]);
  expect(fetch.mock.calls.map(([path]) => path)).toEqual([
    '/api/x?limit=1000',
    '/api/x?limit=1000&after=a%2Bb',
  ]);
});
