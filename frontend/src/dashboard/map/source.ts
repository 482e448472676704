/** Fetches pictures as the map asks for them: sheets of a tile, or single images in bundles. */
import { campaignApi, modelApi, reply } from '../../api/client';
import { ApiError } from '../../api/errors';
import { slices } from './bundle';
import { keyOfLayout, queryOf, type LayoutName } from './layout';
import { keyOf, type Tile } from './tiles';
import type { Kind } from './pages';

export interface Arrival {
  key: string;
  kind: Kind;
  bitmap: ImageBitmap;
}

export interface Wanted {
  key: string;
  kind: Kind;
  image: number;
  /** Of a sheet. */
  tile?: Tile | undefined;
}

const AT_ONCE = 4;
const BUNDLE = 32;
/** Milliseconds until something that could not be fetched is tried again. */
const PATIENCE = 10_000;

export function sheetKey(layout: LayoutName, tile: Tile): string {
  return `${keyOfLayout(layout)}/${keyOf(tile)}`;
}

export function singleKey(kind: Kind, image: number): string {
  return `${kind}/${image}`;
}

export class PictureSource {
  private readonly arrivals: Arrival[] = [];
  private wanted: Wanted[] = [];
  /** Asked for, or come and not taken yet. */
  private readonly busy = new Set<string>();
  private readonly resting = new Map<string, number>();
  private requests = 0;
  private readonly stopped = new AbortController();

  /** `onArrival` is called when there is something to show. */
  constructor(
    private readonly campaignId: string,
    private readonly onArrival: () => void,
  ) {}

  /** What is missing on the map as it is now, the most telling first; replaces earlier wishes. */
  want(layout: LayoutName, wanted: Wanted[]): void {
    this.wanted = wanted;
    this.pump(layout);
  }

  get waiting(): boolean {
    return this.arrivals.length > 0;
  }

  /** Nothing is on its way, nothing waits to be taken. */
  get idle(): boolean {
    return this.requests === 0 && !this.waiting;
  }

  /** The next picture that has come; the caller closes its bitmap. */
  take(): Arrival | undefined {
    const arrival = this.arrivals.shift();
    if (arrival) this.busy.delete(arrival.key);
    return arrival;
  }

  /** Something that has come found no room: not again at once. */
  rest(key: string): void {
    this.resting.set(key, performance.now() + PATIENCE);
  }

  close(): void {
    this.stopped.abort();
    this.wanted = [];
    for (const { bitmap } of this.arrivals.splice(0)) bitmap.close();
  }

  private pump(layout: LayoutName): void {
    while (this.requests < AT_ONCE) {
      const next = this.wanted.find(({ key }) => this.isFree(key));
      if (!next) return;
      const batch = next.tile
        ? [next]
        : this.wanted
            .filter(({ key, kind }) => kind === next.kind && this.isFree(key))
            .slice(0, BUNDLE);
      for (const { key } of batch) this.busy.add(key);
      this.requests += 1;
      void this.load(layout, next, batch).finally(() => {
        this.requests -= 1;
        const here = new Set(this.arrivals.map(({ key }) => key));
        for (const { key } of batch) if (!here.has(key)) this.busy.delete(key);
        this.onArrival();
        this.pump(layout);
      });
    }
  }

  private isFree(key: string): boolean {
    return !this.busy.has(key) && !((this.resting.get(key) ?? 0) > performance.now());
  }

  private async load(layout: LayoutName, { tile, kind }: Wanted, batch: Wanted[]): Promise<void> {
    try {
      const bytes = await (tile
        ? this.sheet(layout, tile)
        : this.bundle(kind as 'small' | 'thumb', batch));
      const parts = tile ? [new Uint8Array(bytes)] : slices(bytes);
      await Promise.all(batch.map(({ key }, k) => this.decode(key, kind, parts[k])));
    } catch (problem) {
      if (this.stopped.signal.aborted) return;
      if (!(problem instanceof ApiError)) throw problem;
      const until = problem.temporary ? performance.now() + PATIENCE : Infinity;
      for (const { key } of batch) this.resting.set(key, until);
    }
  }

  private sheet(layout: LayoutName, { level, column, row }: Tile): Promise<ArrayBuffer> {
    const params = { path: { level, column, row }, query: queryOf(layout) };
    const api = modelApi(this.campaignId, layout.version);
    const call = { params, parseAs: 'arrayBuffer', signal: this.stopped.signal } as const;
    return reply(api.GET('/map/sheets/{level}/{column}/{row}', call));
  }

  private bundle(size: 'small' | 'thumb', batch: readonly Wanted[]): Promise<ArrayBuffer> {
    const params = { path: { size }, query: { at: batch.map(({ image }) => image) } };
    const call = { params, parseAs: 'arrayBuffer', signal: this.stopped.signal } as const;
    return reply(campaignApi(this.campaignId).GET('/map/pictures/{size}', call));
  }

  private async decode(key: string, kind: Kind, bytes: Uint8Array | undefined): Promise<void> {
    try {
      if (!bytes?.length) throw new Error('missing from storage');
      const blob = new Blob([bytes as BlobPart], { type: 'image/webp' });
      const bitmap = await createImageBitmap(blob, { premultiplyAlpha: 'premultiply' });
      if (this.stopped.signal.aborted) bitmap.close();
      else this.arrivals.push({ key, kind, bitmap });
    } catch {
      // Its dot stays a dot; the others of the reply are shown.
      this.resting.set(key, Infinity);
    }
  }
}
