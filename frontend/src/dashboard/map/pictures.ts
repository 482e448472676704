/** The pictures of a map: fetched as they are wanted, kept on pages, laid out for every frame. */
import type { Choice } from './choose';
import type { Layout } from './layout';
import { PAGE, Pages, type Kind, type Slot } from './pages';
import { PictureSource, sheetKey, singleKey, type Arrival, type Wanted } from './source';
import { STRIDE, type Surface } from './surface';
import { CELLS } from './tiles';

/** What of an image's picture a frame needs to know in addition to its position. */
export interface Style {
  /** Slot of its colour, −1 for none. */
  slot: number;
  opacity: number;
}

interface Found {
  slot: Slot;
  width: number;
  height: number;
  /** When it came, in milliseconds as of `performance.now()`. */
  since: number;
}

export interface FrameLayout {
  count: number;
  /** Some are still appearing. */
  fading: boolean;
  missing: Wanted[];
}

const MOST_PICTURES = 3_000;
const APPEAR_MS = 180;
const CELL = PAGE / CELLS;
/** Uploads in a frame, in pages. */
const UPLOADS = 3;
const COST: Record<Kind, number> = { sheet: 1, small: 1 / 12, thumb: 1 / 4 };
/** A picture is taken from the smallest kind that has about as many pixels. */
const ENOUGH: [Kind, number][] = [
  ['sheet', 72],
  ['small', 150],
  ['thumb', Infinity],
];
const SELECTED = 1.35;

export class PictureLayer {
  readonly data = new Float32Array(MOST_PICTURES * STRIDE);
  private readonly pages: Pages;
  private readonly source: PictureSource;
  private readonly shown = new Map<string, Omit<Found, 'slot'>>();
  private number = 0;

  /** `onArrival` is called when there is something to show. */
  constructor(
    private readonly surface: Surface,
    nPages: number,
    campaignId: string,
    onArrival: () => void,
  ) {
    this.pages = new Pages(nPages);
    this.source = new PictureSource(campaignId, onArrival);
  }

  /** Something has come and waits for the next frame. */
  get waiting(): boolean {
    return this.source.waiting;
  }

  /** Nothing is on its way. */
  get idle(): boolean {
    return this.source.idle;
  }

  close(): void {
    this.source.close();
  }

  /** Begin a frame: pictures that have come are put on pages, a few at a time. */
  receive(): void {
    this.number += 1;
    for (let cost = 0; cost < UPLOADS;) {
      const arrival = this.source.take();
      if (!arrival) return;
      cost += COST[arrival.kind];
      this.put(arrival);
      arrival.bitmap.close();
    }
  }

  /** Write a frame's pictures to `data`, the most important last, on top; ask for what is missing. */
  lay(
    layout: Layout,
    choice: Choice,
    ratio: number,
    selected: number | null,
    styleOf: (image: number) => Style,
  ): FrameLayout {
    const missing = new Map<string, Wanted>();
    const now = performance.now();
    let [count, fading] = [0, false];
    for (let k = Math.min(choice.images.length, MOST_PICTURES) - 1; k >= 0; k--) {
      const image = choice.images[k]!;
      const side = choice.side * (image === selected ? SELECTED : 1);
      const single = choice.detail === 'near' || image === selected;
      const found = this.find(layout, image, side * ratio, single, missing);
      if (!found) continue;
      const { slot, opacity } = styleOf(image);
      const seen = Math.min((now - found.since) / APPEAR_MS, 1);
      fading ||= seen < 1;
      const { page, x, y } = found.slot;
      const row = [choice.xs[k]!, choice.ys[k]!, side / 2, page, x, y, found.width, found.height];
      this.data.set([...row, slot, seen * opacity], count * STRIDE);
      count += 1;
    }
    const wanted = [...missing.values()].reverse();
    this.source.want(layout, wanted);
    return { count, fading, missing: wanted };
  }

  private put({ key, kind, bitmap }: Arrival): void {
    if (this.pages.has(key)) return;
    const slot = this.pages.place(kind, key, this.number);
    if (!slot) {
      this.source.rest(key);
      return;
    }
    this.surface.upload(slot.page, slot.x, slot.y, bitmap);
    const { width, height } = bitmap;
    this.shown.set(key, { width, height, since: performance.now() });
  }

  /** Where a picture of an image lies: the kind that suits its size, else one that is there. */
  private find(
    layout: Layout,
    image: number,
    pixels: number,
    single: boolean,
    missing: Map<string, Wanted>,
  ): Found | null {
    const tile = layout.tiles.tileOf(image);
    const sheet = tile && sheetKey(layout, tile);
    let kind = ENOUGH.find(([, enough]) => pixels <= enough)![0];
    // Where all images are shown, a level's pictures lie on many sheets with little on each.
    if (kind === 'sheet' && (single || !sheet)) kind = 'small';
    const best = kind === 'sheet' ? sheet! : singleKey(kind, image);
    const known = [best, singleKey('small', image), singleKey('thumb', image), sheet].find(
      (key) => key !== undefined && this.pages.has(key),
    );
    if (known !== best)
      missing.set(best, { key: best, kind, image, tile: kind === 'sheet' ? tile : undefined });
    if (known === undefined) return null;
    const slot = this.pages.find(known, this.number)!;
    if (known !== sheet) return { slot, ...this.shown.get(known)! };
    const [column, row] = layout.tiles.placeOnSheet(image);
    return {
      slot: { page: slot.page, x: slot.x + column * CELL, y: slot.y + row * CELL },
      width: CELL,
      height: CELL,
      since: this.shown.get(known)!.since,
    };
  }
}
