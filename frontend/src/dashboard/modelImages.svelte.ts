/** What a model says about its campaign's images: a filtered list, part by part. */
import { modelApi, reply, type ModelApi } from '../api/client';
import type { Page } from '../api/types';
import { RequestState } from '../lib/request.svelte';

export abstract class ModelImages<Item, Filter> {
  images = $state.raw<Item[]>([]);
  next = $state.raw<string | null>(null);
  /** The list belongs to the filter; false while another is on its way. */
  current = $state(false);
  readonly request = new RequestState();
  abstract filter: Filter;
  protected api: ModelApi | null = null;
  private version = 0;

  constructor(private readonly campaignId: string) {}

  protected abstract pageOf(
    api: ModelApi,
    filter: Filter,
    after: string | null,
  ): Promise<{ data?: Page<Item> }>;

  /** The API of another model from now on; null if it is the same model. */
  protected changedTo(version: number): ModelApi | null {
    if (version === this.version) return null;
    this.version = version;
    return (this.api = modelApi(this.campaignId, version));
  }

  async choose(changes: Partial<Filter>): Promise<void> {
    this.filter = { ...this.filter, ...changes };
    this.current = false;
    await this.fetch(null);
  }

  async more(): Promise<void> {
    if (this.next !== null) await this.fetch(this.next);
  }

  private async fetch(after: string | null): Promise<void> {
    const { api, filter } = this;
    if (!api) return;
    const page = await this.request.run(() => reply(this.pageOf(api, filter, after)));
    if (!page || api !== this.api || filter !== this.filter) return;
    this.images = after === null ? page.items : [...this.images, ...page.items];
    this.next = page.next;
    this.current = true;
  }
}
