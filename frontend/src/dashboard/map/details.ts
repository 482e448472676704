/** Names and addresses of images, fetched when they are first shown and kept. */
import { reply, type CampaignApi } from '../../api/client';
import type { Image } from '../../api/types';

const AT_ONCE = 200;
const KEPT = 5_000;

export class Details {
  private readonly known = new Map<number, Image>();

  constructor(private readonly api: CampaignApi) {}

  get(image: number): Image | undefined {
    return this.known.get(image);
  }

  /** In the order of `images`; raises ApiError. */
  async load(images: readonly number[]): Promise<Image[]> {
    const missing = [...new Set(images.filter((image) => !this.known.has(image)))];
    for (let k = 0; k < missing.length; k += AT_ONCE) {
      const query = { at: missing.slice(k, k + AT_ONCE) };
      this.keep((await reply(this.api.GET('/map/images', { params: { query } }))).items);
    }
    return images.flatMap((image) => this.known.get(image) ?? []);
  }

  /** At most twenty images whose file names contain `text`, and their number; raises ApiError. */
  async find(text: string): Promise<{ items: Image[]; total: number }> {
    const query = { find: text };
    const { items, total } = await reply(this.api.GET('/map/images', { params: { query } }));
    this.keep(items);
    return { items, total };
  }

  private keep(images: readonly Image[]): void {
    if (this.known.size > KEPT) this.known.clear();
    for (const image of images) this.known.set(image.position, image);
  }
}

/** What a search says of matches that it does not list; empty if there are none. */
export function unlistedText(listed: number, total: number): string {
  if (total <= listed) return '';
  return `The first ${listed} of ${total.toLocaleString('en')} matches are listed. Type more of the name.`;
}
