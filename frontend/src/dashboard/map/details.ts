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

  /** At most twenty images whose file names contain `text`; raises ApiError. */
  async find(text: string): Promise<Image[]> {
    const query = { find: text };
    const { items } = await reply(this.api.GET('/map/images', { params: { query } }));
    this.keep(items);
    return items;
  }

  private keep(images: readonly Image[]): void {
    if (this.known.size > KEPT) this.known.clear();
    for (const image of images) this.known.set(image.position, image);
  }
}
