/** The clusters that the shown model itself tells, and every image's place in them. */
import { modelApi, reply, type ModelApi } from '../../api/client';
import type { Membership, OwnClusters } from '../../api/types';
import { RequestState } from '../../lib/request.svelte';

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

export class OwnMemberships {
  summary = $state.raw<OwnClusters | null>(null);
  members = $state.raw<Membership[]>([]);
  filter = $state.raw<Filter>({ order: 'uncertain', cluster: null, asked: null });
  next = $state.raw<string | null>(null);
  readonly request = new RequestState();
  private api: ModelApi | null = null;
  private version = 0;

  constructor(private readonly campaignId: string) {}

  /** Those of another model. */
  async of(version: number): Promise<void> {
    if (version === this.version) return;
    this.version = version;
    const api = (this.api = modelApi(this.campaignId, version));
    this.summary = null;
    this.members = [];
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

  async choose(changes: Partial<Filter>): Promise<void> {
    this.filter = { ...this.filter, ...changes };
    await this.fetch(null);
  }

  async more(): Promise<void> {
    if (this.next !== null) await this.fetch(this.next);
  }

  private async fetch(after: string | null): Promise<void> {
    const { api, filter } = this;
    if (!api) return;
    const params = { query: queryOf(filter, after) };
    const page = await this.request.run(() => reply(api.GET('/memberships', { params })));
    if (!page || api !== this.api || filter !== this.filter) return;
    this.members = after === null ? page.items : [...this.members, ...page.items];
    this.next = page.next;
  }
}
