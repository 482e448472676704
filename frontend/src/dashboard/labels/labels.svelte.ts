/** What the shown model tells of labels, and part of the labelled images. */
import { request } from '../../api/client';
import type { Label, LabelQuality, Page } from '../../api/types';
import { Asking } from '../loading.svelte';
import { queryOf, type Filter } from './labels';

export class Labelled {
  told = $state.raw<LabelQuality | null>(null);
  images = $state.raw<Label[]>([]);
  filter = $state.raw<Filter>({ tab: 'ranked', asked: null });
  next = $state.raw<string | null>(null);
  /** The list belongs to the filter; false while another is on its way. */
  current = $state(false);
  readonly asking = new Asking();
  private path = '';

  constructor(private readonly campaignId: string) {}

  /** Those of another model; what is shown stays until they have come. */
  async of(version: number): Promise<void> {
    const path = `/api/v1/campaigns/${this.campaignId}/models/${version}`;
    if (path === this.path) return;
    this.path = path;
    const told = await this.asking.for(() => request<LabelQuality>(`${path}/label-quality`));
    if (path !== this.path) return;
    this.told = told ?? null;
    if (told) await this.choose({});
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
    const { path, filter } = this;
    const query = queryOf(filter, after);
    const page = await this.asking.for(() => request<Page<Label>>(`${path}/labels?${query}`));
    if (!page || path !== this.path || filter !== this.filter) return;
    this.images = after === null ? page.items : [...this.images, ...page.items];
    this.next = page.next;
    this.current = true;
  }
}
