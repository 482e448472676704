/**
 * Room for pictures on the graphics card: pages of 512 × 512 pixels, each one sheet of 64 pictures,
 * or 16 pictures of up to 128 pixels, or 4 of up to 256. When all pages are taken, the one that was
 * not looked at for longest is given away.
 */

export const PAGE = 512;
export type Kind = 'sheet' | 'small' | 'thumb';
const SIDE: Record<Kind, number> = { sheet: PAGE, small: 128, thumb: 256 };

export interface Slot {
  page: number;
  x: number;
  y: number;
}

interface Page {
  kind: Kind;
  /** What lies where; free slots are undefined. */
  keys: (string | undefined)[];
  used: number;
}

export class Pages {
  private readonly pages: (Page | undefined)[];
  private readonly slots = new Map<string, Slot>();

  constructor(readonly most: number) {
    this.pages = Array.from({ length: most }, () => undefined);
  }

  /** Where a picture lies; being asked for keeps its page. `now` counts frames. */
  find(key: string, now: number): Slot | undefined {
    const slot = this.slots.get(key);
    if (slot) this.pages[slot.page]!.used = now;
    return slot;
  }

  has(key: string): boolean {
    return this.slots.has(key);
  }

  /** A place for a new picture, or undefined while all pages are looked at in this frame. */
  place(kind: Kind, key: string, now: number): Slot | undefined {
    const index = this.pageWithRoom(kind, now);
    if (index === undefined) return undefined;
    const page = this.pages[index]!;
    const free = page.keys.indexOf(undefined);
    page.keys[free] = key;
    page.used = now;
    const across = PAGE / SIDE[kind];
    const slot = {
      page: index,
      x: (free % across) * SIDE[kind],
      y: Math.floor(free / across) * SIDE[kind],
    };
    this.slots.set(key, slot);
    return slot;
  }

  private pageWithRoom(kind: Kind, now: number): number | undefined {
    const open = this.pages.findIndex((p) => p?.kind === kind && p.keys.includes(undefined));
    if (open >= 0) return open;
    let oldest = this.pages.indexOf(undefined);
    if (oldest < 0) {
      oldest = this.pages.reduce((best, p, k) => (p!.used < this.pages[best]!.used ? k : best), 0);
      if (this.pages[oldest]!.used >= now) return undefined;
      for (const key of this.pages[oldest]!.keys) if (key) this.slots.delete(key);
    }
    const room = (PAGE / SIDE[kind]) ** 2;
    this.pages[oldest] = { kind, keys: Array.from({ length: room }, () => undefined), used: now };
    return oldest;
  }
}
