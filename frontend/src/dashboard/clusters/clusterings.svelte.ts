/** The clusterings of the shown model, and the one that is looked at. */
import { at, modelApi, reply, type ModelApi } from '../../api/client';
import type { Clustering, ClusteringSummary, ClusterSuggestion } from '../../api/types';
import { RequestState } from '../../lib/request.svelte';

type Algorithm = Exclude<Clustering['algorithm'], 'model' | 'selection'>;

export class Clusterings {
  all = $state.raw<ClusteringSummary[] | null>(null);
  shown = $state.raw<Clustering | null>(null);
  suggestion = $state.raw<ClusterSuggestion | null>(null);
  readonly request = new RequestState();
  private path = '';
  private api!: ModelApi;

  constructor(private readonly campaignId: string) {}

  /** Those of another model; its newest is shown. */
  async of(version: number): Promise<void> {
    const path = `/api/v1/campaigns/${this.campaignId}/models/${version}`;
    if (path === this.path) return;
    this.path = path;
    this.api = modelApi(this.campaignId, version);
    this.all = this.shown = this.suggestion = null;
    await this.list();
    const newest = (this.all as ClusteringSummary[] | null)?.[0];
    if (newest && path === this.path) await this.show(newest.id);
  }

  async show(id: string): Promise<void> {
    const place = at({ clustering_id: id });
    const found = await this.request.run(() =>
      reply(this.api.GET('/clusterings/{clustering_id}', place)),
    );
    if (found) this.shown = found;
  }

  async suggest(algorithm: Algorithm): Promise<number | undefined> {
    const params = { query: { algorithm } };
    const found = await this.request.run(() =>
      reply(this.api.GET('/cluster-suggestion', { params })),
    );
    if (found) this.suggestion = found;
    return found?.n_clusters;
  }

  async make(algorithm: Algorithm, n_clusters: number): Promise<void> {
    const body = { algorithm, n_clusters, name: '' };
    await this.replace(() => this.api.POST('/clusterings', { body }));
  }

  async rename(name: string | null, names: Record<number, string> = {}): Promise<void> {
    if (!this.shown) return;
    const call = { ...at({ clustering_id: this.shown.id }), body: { name, names } };
    await this.replace(() => this.api.PATCH('/clusterings/{clustering_id}', call));
  }

  async merge(clusters: number[]): Promise<void> {
    if (!this.shown) return;
    const call = { ...at({ clustering_id: this.shown.id }), body: { clusters, name: '' } };
    await this.replace(() => this.api.POST('/clusterings/{clustering_id}/merge', call));
  }

  async remove(): Promise<void> {
    if (!this.shown) return;
    const { id, merged_from } = this.shown;
    const done = await this.request.succeeds(() =>
      reply(this.api.DELETE('/clusterings/{clustering_id}', at({ clustering_id: id }))),
    );
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
    const found = await this.request.run(() => reply(this.api.GET('/clusterings')));
    if (found && path === this.path) this.all = found.items;
  }

  private async replace(call: () => Promise<{ data?: Clustering }>): Promise<void> {
    const made = await this.request.run(() => reply(call()));
    if (!made) return;
    this.shown = made;
    await this.list();
  }
}
