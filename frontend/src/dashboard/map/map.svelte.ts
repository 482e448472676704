/** State of the map's page: which model, what it is coloured by, what is chosen. */
import { untrack } from 'svelte';
import { ApiError, request } from '../../api/client';
import type { MapColumn, MapColumns } from '../../api/types';
import { ShownModel } from '../models.svelte';
import { readAddress, writeAddress } from './address';
import type { Density } from './choose';
import { clusterColumn, listClusterings, type Clustering } from './clusterings';
import { colouringOf, plain, type Colouring, type Column } from './colouring';
import { Details } from './details';
import { Layouts, type Layout, type Method } from './layout';

const PLAIN = '#4f7bd6';
const NONE: Record<string, string> = {
  attribute: 'no value',
  annotator: 'never seen',
  clustering: 'in no cluster',
  label: 'no label',
};

export class MapState {
  readonly shown: ShownModel;
  readonly details: Details;
  readonly layouts: Layouts;
  readonly root: string;
  layout = $state.raw<Layout | null>(null);
  /** The layout that is wanted; `layout` is the one that is shown until it has come. */
  method = $state<Method>('pca');
  colourBy = $state('');
  columns = $state.raw<MapColumns>({ attributes: [], annotators: [] });
  clusterings = $state.raw<Clustering[]>([]);
  dimmed = $state.raw<ReadonlySet<number>>(new Set());
  density = $state<Density>('medium');
  selected = $state<number | null>(null);
  /** Positions inside the lasso, ascending. */
  chosen = $state.raw<readonly number[]>([]);
  error = $state('');
  private column = $state.raw<{ by: string; values: Column } | null>(null);

  /** Another layout is being computed. */
  readonly waiting = $derived(
    this.layout !== null && this.layout.method !== this.method && this.error === '',
  );
  readonly chosenSet = $derived(new Set(this.chosen));
  readonly colouring = $derived.by<Colouring>(() => {
    const n = this.layout?.n ?? 0;
    if (!this.column || this.column.by !== this.colourBy) return plain(n, PLAIN);
    const [kind = ''] = this.colourBy.split(':');
    return colouringOf(this.column.values, n, NONE[kind] ?? '');
  });

  /** Made while a component is set up, whose effects these are. */
  constructor(campaignId: string) {
    this.root = `/api/v1/campaigns/${campaignId}`;
    this.shown = new ShownModel(campaignId);
    this.details = new Details(this.root);
    this.layouts = new Layouts(this.root);
    const asked = readAddress(location.search);
    this.shown.wanted = asked.model ?? 'newest';
    this.colourBy = asked.colour;
    this.selected = asked.selected;
    this.method = asked.layout;
    $effect(() => this.followModel());
    $effect(() => this.followColour());
    $effect(() => this.writeAddress());
    $effect(() => {
      // New answers bring new annotators, new models new clusterings.
      if (this.layout) void this.tell(() => this.loadOptions());
    });
  }

  /** The value that colours an image, '' where there is none. */
  valueOf(image: number): string {
    if (!this.column || this.column.by !== this.colourBy) return '';
    const { values, codes } = this.column.values;
    return values[codes[image] ?? -1] ?? '';
  }

  /** Dim all others, or this one too; all dimmed is none dimmed. */
  toggle(slot: number): void {
    const all = this.colouring.legend.map((entry) => entry.slot);
    const bright = all.filter((one) => !this.dimmed.has(one));
    let next: number[];
    if (bright.length === all.length) next = [slot];
    else if (bright.includes(slot)) next = bright.filter((one) => one !== slot);
    else next = [...bright, slot];
    this.dimmed = new Set(next.length === 0 ? [] : all.filter((one) => !next.includes(one)));
  }

  async tell(action: () => Promise<unknown>): Promise<void> {
    try {
      await action();
      this.error = '';
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      this.error = problem.detail;
    }
  }

  private followModel(): void {
    const { version } = this.shown;
    const { method } = this;
    if (version === undefined || !this.shown.live.progress) return;
    if (!this.shown.versions.includes(version)) {
      // An address may name a model that there is not.
      this.shown.wanted = 'newest';
      return;
    }
    void this.tell(async () => {
      const isWanted = () => version === this.shown.version && method === this.method;
      const layout = await this.layouts.load({ version, method }, isWanted);
      if (layout && isWanted()) this.layout = layout;
    });
  }

  private async loadOptions(): Promise<void> {
    const version = this.layout!.version;
    const [columns, clusterings] = await Promise.all([
      request<MapColumns>(`${this.root}/map/columns`),
      listClusterings(this.root, version),
    ]);
    if (version !== this.layout?.version) return;
    this.columns = columns;
    this.keepClustering(clusterings);
    this.clusterings = clusterings;
  }

  /** Another model's clustering of the same name takes the place of the one that was shown. */
  private keepClustering(next: Clustering[]): void {
    const before = this.clusterings.find(({ id }) => this.colourBy === `clustering:${id}`);
    const same = next.find(({ name }) => name === before?.name);
    if (same) this.colourBy = `clustering:${same.id}`;
  }

  private followColour(): void {
    const by = this.colourBy;
    const version = this.layout?.version;
    untrack(() => (this.dimmed = new Set()));
    if (version === undefined || by === '') return;
    void this.tell(async () => {
      const values = await this.loadColumn(by, version);
      if (by === this.colourBy) this.column = { by, values };
    });
  }

  private loadColumn(by: string, version: number): Promise<Column> {
    const [kind, ...rest] = by.split(':');
    const what = rest.join(':');
    if (kind === 'clustering') return clusterColumn(this.root, version, what);
    if (kind === 'label') {
      return request<MapColumn>(
        `${this.root}/models/${version}/map/labels?by=${encodeURIComponent(what)}`,
      );
    }
    return request<MapColumn>(`${this.root}/map/column?${kind}=${encodeURIComponent(what)}`);
  }

  private writeAddress(): void {
    const { wanted } = this.shown;
    const query = writeAddress(location.search, {
      model: wanted === 'newest' ? null : wanted,
      colour: this.colourBy,
      selected: this.selected,
      layout: this.method,
    });
    history.replaceState(history.state, '', `${location.pathname}${query}${location.hash}`);
  }
}
