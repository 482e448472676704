/** State of the map's page: which model, what it is coloured by, what is chosen. */
import { untrack } from 'svelte';
import { at, campaignApi, modelApi, reply, type CampaignApi } from '../../api/client';
import { ApiError } from '../../api/errors';
import type { ClusteringSummary, LearnedAttribute, MapColumns } from '../../api/types';
import { RequestState } from '../../lib/request.svelte';
import { ShownModel } from '../models.svelte';
import { readAddress, writeAddress } from './address';
import type { Density } from './choose';
import { clusterColumn, listClusterings } from './clusterings';
import { colouringOf, fadeOf, plain, type Colouring, type Column } from './colouring';
import { Details } from './details';
import { axesOf, Layouts, type Layout, type Method } from './layout';
import { withWords } from './learned';

const PLAIN = '#4f7bd6';
const NONE: Record<string, string> = {
  attribute: 'no value',
  annotator: 'never seen',
  clustering: 'in no cluster',
  label: 'no label',
};

/** What other models may lack. */
const OF_THE_MODEL = /^(learned:|settled$)/;

export class MapState {
  readonly shown: ShownModel;
  readonly details: Details;
  readonly layouts: Layouts;
  readonly api: CampaignApi;
  readonly request = new RequestState();
  layout = $state.raw<Layout | null>(null);
  /** The layout that is wanted; `layout` is the one that is shown until it has come. */
  method = $state<Method>('pca');
  colourBy = $state('');
  columns = $state.raw<MapColumns>({ attributes: [], annotators: [] });
  clusterings = $state.raw<ClusteringSummary[]>([]);
  /** The attributes that the shown model learned, the most used first. */
  learned = $state.raw<LearnedAttribute[]>([]);
  dimmed = $state.raw<ReadonlySet<number>>(new Set());
  density = $state<Density>('medium');
  selected = $state<number | null>(null);
  /** Positions inside the lasso, ascending. */
  chosen = $state.raw<readonly number[]>([]);
  private column = $state.raw<{ by: string; values: Column } | null>(null);

  /** Another layout is being computed. */
  readonly waiting = $derived(
    this.layout !== null && this.layout.method !== this.method && this.request.error === '',
  );
  readonly chosenSet = $derived(new Set(this.chosen));
  readonly colouring = $derived.by<Colouring>(() => {
    const n = this.layout?.n ?? 0;
    if (!this.column || this.column.by !== this.colourBy) return plain(n, PLAIN);
    const [kind = '', index] = this.colourBy.split(':');
    if (kind === 'settled') return fadeOf(this.column.values, n, PLAIN);
    const colouring = colouringOf(this.column.values, n, NONE[kind] ?? '');
    if (kind !== 'learned') return colouring;
    const attribute = this.learned.find((each) => each.index === Number(index));
    return { ...colouring, legend: withWords(colouring.legend, attribute) };
  });

  /** Made while a component is set up, whose effects these are. */
  constructor(readonly campaignId: string) {
    this.api = campaignApi(campaignId);
    this.shown = new ShownModel(campaignId);
    this.details = new Details(this.api);
    this.layouts = new Layouts(campaignId);
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
      if (this.layout) void this.request.run(() => this.loadOptions());
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

  private followModel(): void {
    const { version } = this.shown;
    const { method } = this;
    if (version === undefined || !this.shown.live.progress) return;
    if (!this.shown.versions.includes(version)) {
      // An address may name a model that there is not.
      this.shown.wanted = 'newest';
      return;
    }
    void this.request.run(async () => {
      const isWanted = () => version === this.shown.version && method === this.method;
      try {
        const layout = await this.layouts.load({ version, method }, isWanted);
        if (layout && isWanted()) this.layout = layout;
      } catch (problem) {
        // Another model may not have these attributes.
        if (!isMissing(problem) || !axesOf(method)) throw problem;
        if (isWanted()) this.method = 'pca';
      }
    });
  }

  private async loadOptions(): Promise<void> {
    const version = this.layout!.version;
    const model = modelApi(this.campaignId, version);
    const [columns, clusterings, learned] = await Promise.all([
      reply(this.api.GET('/map/columns')),
      listClusterings(model),
      reply(model.GET('/map/attributes')),
    ]);
    if (version !== this.layout?.version) return;
    this.columns = columns;
    this.learned = learned.items;
    this.keepClustering(clusterings);
    this.clusterings = clusterings;
  }

  /** Colour the map by a new clustering; raises ApiError. */
  async showClustering(id: string): Promise<void> {
    await this.loadOptions();
    this.colourBy = `clustering:${id}`;
  }

  /** Another model's clustering of the same name takes the place of the one that was shown. */
  private keepClustering(next: ClusteringSummary[]): void {
    const before = this.clusterings.find(({ id }) => this.colourBy === `clustering:${id}`);
    const same = next.find(({ name }) => name === before?.name);
    if (same) this.colourBy = `clustering:${same.id}`;
  }

  private followColour(): void {
    const by = this.colourBy;
    const version = this.layout?.version;
    untrack(() => (this.dimmed = new Set()));
    if (version === undefined || by === '') return;
    void this.request.run(async () => {
      try {
        const values = await this.loadColumn(by, version);
        if (by === this.colourBy) this.column = { by, values };
      } catch (problem) {
        if (!isMissing(problem) || !OF_THE_MODEL.test(by)) throw problem;
        if (by === this.colourBy) this.colourBy = '';
      }
    });
  }

  private loadColumn(by: string, version: number): Promise<Column> {
    const [kind, ...rest] = by.split(':');
    const what = rest.join(':');
    const api = modelApi(this.campaignId, version);
    if (kind === 'clustering') return clusterColumn(api, what);
    if (kind === 'learned') {
      return reply(api.GET('/map/attributes/{index}', at({ index: Number(what) })));
    }
    if (kind === 'settled') return reply(api.GET('/map/settled'));
    if (kind === 'label') {
      const by = what as 'label' | 'probability';
      return reply(api.GET('/map/labels', { params: { query: { by } } }));
    }
    const query = kind === 'annotator' ? { annotator: Number(what) } : { attribute: what };
    return reply(this.api.GET('/map/column', { params: { query } }));
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

function isMissing(problem: unknown): boolean {
  return problem instanceof ApiError && problem.status === 404;
}
