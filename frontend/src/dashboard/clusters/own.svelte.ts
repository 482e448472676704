/** The clusters that the shown model itself tells, and every image's place in them. */
import { request } from '../../api/client';
import type { Membership, OwnClusters, Page } from '../../api/types';
import { Asking } from '../loading.svelte';

export interface Filter {
  order: 'uncertain' | 'position';
  /** Null: of all clusters. */
  cluster: number | null;
  asked: boolean | null;
}

const AT_ONCE = 60;

/** The query of a part of the list. */
export function queryOf({ order, cluster, asked }: Filter, after: string | null): string {
  const query = new URLSearchParams({ order, limit: String(AT_ONCE) });
  if (cluster !== null) query.set('cluster', String(cluster));
  if (asked !== null) query.set('asked', String(asked));
  if (after !== null) query.set('after', after);
  return query.toString();
}

export class OwnMemberships {
  told = $state.raw<OwnClusters | null>(null);
  members = $state.raw<Membership[]>([]);
  filter = $state.raw<Filter>({ order: 'uncertain', cluster: null, asked: null });
  next = $state.raw<string | null>(null);
  readonly asking = new Asking();
  private path = '';

  constructor(private readonly campaignId: string) {}

  /** Those of another model. */
  async of(version: number): Promise<void> {
    const path = `/api/v1/campaigns/${this.campaignId}/models/${version}`;
    if (path === this.path) return;
    this.path = path;
    this.told = null;
    this.members = [];
    const told = await this.asking.for(() => request<OwnClusters>(`${path}/own-clusters`));
    if (!told || path !== this.path) return;
    this.told = told;
    // A cluster of another model is not one of this.
    await this.choose({ cluster: null });
  }

  /** The names, which may have been given in the meantime. */
  async refresh(): Promise<void> {
    const path = this.path;
    const told = await this.asking.for(() => request<OwnClusters>(`${path}/own-clusters`));
    if (told && path === this.path) this.told = told;
  }

  async choose(changes: Partial<Filter>): Promise<void> {
    this.filter = { ...this.filter, ...changes };
    await this.fetch(null);
  }

  async more(): Promise<void> {
    if (this.next !== null) await this.fetch(this.next);
  }

  private async fetch(after: string | null): Promise<void> {
    const { path, filter } = this;
    const query = queryOf(filter, after);
    const page = await this.asking.for(() =>
      request<Page<Membership>>(`${path}/memberships?${query}`),
    );
    if (!page || path !== this.path || filter !== this.filter) return;
    this.members = after === null ? page.items : [...this.members, ...page.items];
    this.next = page.next;
  }
}
