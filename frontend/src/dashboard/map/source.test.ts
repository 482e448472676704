import { afterEach, expect, it, vi } from 'vitest';
import { PictureSource, type Wanted } from './source';

afterEach(() => vi.unstubAllGlobals());

/** A server that answers each request when told to, and bitmaps without a browser. */
function aServer() {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  vi.stubGlobal('fetch', ({ url }: Request) => {
    asked.push(url.slice(CAMPAIGN.length));
    return new Promise<Response>((done) =>
      answers.push(() => done(new Response(new Uint8Array([1, 2, 3])))),
    );
  });
  vi.stubGlobal('createImageBitmap', async () => ({ width: 1, height: 1, close: () => {} }));
  return { asked, answers };
}

const CAMPAIGN = `${location.origin}/api/v1/campaigns/c`;
const MODEL = { version: 1, method: 'pca' } as const;

const sheet = (row: number): Wanted => ({
  key: `1/${row}`,
  kind: 'sheet',
  image: row,
  tile: { level: 1, column: 0, row },
});

it('asks for nothing twice, neither on its way nor before it is taken', async () => {
  const { asked, answers } = aServer();
  const source = new PictureSource('c', () => {});
  const wanted = [sheet(0), sheet(1)];
  source.want(MODEL, wanted);
  source.want(MODEL, wanted);
  expect(asked).toEqual(['/models/1/map/sheets/1/0/0', '/models/1/map/sheets/1/0/1']);
  answers.forEach((answer) => answer());
  await vi.waitFor(() => expect(source.waiting).toBe(true));
  await new Promise((done) => setTimeout(done, 20));
  source.want(MODEL, wanted);
  expect(asked).toHaveLength(2);
  expect([source.take()?.key, source.take()?.key, source.take()]).toEqual([
    '1/0',
    '1/1',
    undefined,
  ]);
  expect(source.idle).toBe(true);
});

it('asks for four things at a time, single images in one request', async () => {
  const { asked, answers } = aServer();
  const source = new PictureSource('c', () => {});
  const single = (image: number): Wanted => ({ key: `small/${image}`, kind: 'small', image });
  source.want(MODEL, [single(5), single(9), ...[0, 1, 2, 3, 4].map(sheet)]);
  expect(asked[0]).toBe('/map/pictures/small?at=5&at=9');
  expect(asked).toHaveLength(4);
  answers[1]!();
  await vi.waitFor(() => expect(asked).toHaveLength(5));
});
