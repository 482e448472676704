/** The clusters that the shown model itself tells, and every image's place in them. */
import { reply, type ModelApi } from '../../api/client';
import type { Membership, OwnClusters } from '../../api/types';
import { ModelImages } from '../modelImages.svelte';

export interface Filter {
  order: 'uncertain' | 'position';
  /** Null: of all clusters. */
  cluster: number | null;
  asked: boolean | null;
}

const AT_ONCE = 60;

/** The query of a part of the list. */
export function queryOf({ order, cluster, asked }: Filter, after: string | null) {
  return {
    order,
    limit: AT_ONCE,
    cluster: cluster ?? undefined,
    asked: asked ?? undefined,
    after: after ?? undefined,
  };
}

export class OwnMemberships extends ModelImages<Membership, Filter> {
  summary = $state.raw<OwnClusters | null>(null);
  filter = $state.raw<Filter>({ order: 'uncertain', cluster: null, asked: null });

  /** Those of another model. */
  async of(version: number): Promise<void> {
    const api = this.changedTo(version);
    if (!api) return;
    this.summary = null;
    this.images = [];
    const summary = await this.request.run(() => reply(api.GET('/own-clusters')));
    if (!summary || api !== this.api) return;
    this.summary = summary as OwnClusters;
    // A cluster of another model is not one of this.
    await this.choose({ cluster: null });
  }

  /** The names, which may have been given in the meantime. */
  async refresh(): Promise<void> {
    const { api } = this;
    if (!api) return;
    const summary = await this.request.run(() => reply(api.GET('/own-clusters')));
    if (summary && api === this.api) this.summary = summary as OwnClusters;
  }

  protected override pageOf(api: ModelApi, filter: Filter, after: string | null) {
    return api.GET('/memberships', { params: { query: queryOf(filter, after) } });
  }
}
