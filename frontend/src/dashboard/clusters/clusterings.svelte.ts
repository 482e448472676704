/** The clusterings of the shown model, and the one that is looked at. */
import { request } from '../../api/client';
import type { Clustering, ClusteringSummary, ClusterSuggestion, Page } from '../../api/types';
import { Asking } from '../loading.svelte';

type Algorithm = Clustering['algorithm'];

export class Clusterings {
  all = $state.raw<ClusteringSummary[] | null>(null);
  shown = $state.raw<Clustering | null>(null);
  suggestion = $state.raw<ClusterSuggestion | null>(null);
  readonly asking = new Asking();
  private path = '';

  constructor(private readonly campaignId: string) {}

  /** Those of another model; its newest is shown. */
  async of(version: number): Promise<void> {
    const path = `/api/v1/campaigns/${this.campaignId}/models/${version}`;
    if (path === this.path) return;
    this.path = path;
    this.all = this.shown = this.suggestion = null;
    await this.list();
    const newest = (this.all as ClusteringSummary[] | null)?.[0];
    if (newest && path === this.path) await this.show(newest.id);
  }

  async show(id: string): Promise<void> {
    const found = await this.ask<Clustering>(`/clusterings/${id}`);
    if (found) this.shown = found;
  }

  async suggest(algorithm: Algorithm): Promise<number | undefined> {
    const path = `/cluster-suggestion?algorithm=${algorithm}`;
    const found = await this.ask<ClusterSuggestion>(path);
    if (found) this.suggestion = found;
    return found?.n_clusters;
  }

  async make(algorithm: Algorithm, n_clusters: number): Promise<void> {
    await this.replace('/clusterings', 'POST', { algorithm, n_clusters });
  }

  async rename(name: string | null, names: Record<number, string> = {}): Promise<void> {
    if (this.shown) await this.replace(`/clusterings/${this.shown.id}`, 'PATCH', { name, names });
  }

  async merge(clusters: number[]): Promise<void> {
    if (this.shown) {
      await this.replace(`/clusterings/${this.shown.id}/merge`, 'POST', { clusters });
    }
  }

  async remove(): Promise<void> {
    if (!this.shown) return;
    const { id, merged_from } = this.shown;
    const done = await this.asking.for(async () => {
      await request(`${this.path}/clusterings/${id}`, { method: 'DELETE' });
      return true;
    });
    if (!done) return;
    this.shown = null;
    await this.list();
    const next = merged_from ?? this.all?.[0]?.id;
    if (next) await this.show(next);
  }

  csvOf(id: string): string {
    return `${this.path}/clusterings/${id}/clusters.csv`;
  }

  private async list(): Promise<void> {
    const path = this.path;
    const found = (await this.ask<Page<ClusteringSummary>>('/clusterings'))?.items;
    if (found && path === this.path) this.all = found;
  }

  private async replace(path: string, method: 'POST' | 'PATCH', body: unknown): Promise<void> {
    const made = await this.asking.for(() =>
      request<Clustering>(`${this.path}${path}`, { method, body }),
    );
    if (!made) return;
    this.shown = made;
    await this.list();
  }

  private ask<T>(path: string): Promise<T | undefined> {
    return this.asking.for(() => request<T>(`${this.path}${path}`));
  }
}
