/** What the shown model tells of classes, and part of the labelled images. */
import { modelApi, reply, type ModelApi } from '../../api/client';
import type { Classified, ClassQuality } from '../../api/types';
import { RequestState } from '../../lib/request.svelte';
import { type Filter, queryOf } from './classes';

export class ClassifiedImages {
  quality = $state.raw<ClassQuality | null>(null);
  images = $state.raw<Classified[]>([]);
  filter = $state.raw<Filter>({ tab: 'surest', label: null, asked: null });
  next = $state.raw<string | null>(null);
  /** The list belongs to the filter; false while another is on its way. */
  current = $state(false);
  readonly request = new RequestState();
  readonly names = $derived(this.quality?.classes.map(({ name }) => name) ?? []);
  private api: ModelApi | null = null;
  private version = 0;

  constructor(private readonly campaignId: string) {}

  /** Those of another model; what is shown stays until they have come. */
  async of(version: number): Promise<void> {
    if (version === this.version) return;
    this.version = version;
    const api = (this.api = modelApi(this.campaignId, version));
    const quality = await this.request.run(() => reply(api.GET('/class-quality')));
    if (api !== this.api) return;
    this.quality = quality ?? null;
    if (quality) await this.choose({});
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
    const params = { query: queryOf(filter, after) };
    const page = await this.request.run(() => reply(api.GET('/classes', { params })));
    if (!page || api !== this.api || filter !== this.filter) return;
    this.images = after === null ? page.items : [...this.images, ...page.items];
    this.next = page.next;
    this.current = true;
  }
}
