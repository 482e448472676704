/** The feature sets of a collection, followed while the server computes one. */
import { at, collectionApi, reply } from '../../api/client';
import type { FeatureSet, FeatureSource } from '../../api/types';
import { RequestState } from '../../lib/request.svelte';
import type { PageCollection } from './collection.svelte';

export function isActive({ state }: FeatureSet): boolean {
  return state === 'queued' || state === 'running';
}

export class FeatureSets {
  items = $state.raw<FeatureSet[]>([]);
  sources = $state.raw<FeatureSource[]>([]);
  loaded = $state(false);
  readonly reading = new RequestState();
  readonly request = new RequestState();

  constructor(private readonly collection: PageCollection) {}

  private get api() {
    return collectionApi(this.collection.id);
  }

  get active(): boolean {
    return this.items.some(isActive);
  }

  /** Sources that are not a set yet. */
  get missing(): FeatureSource[] {
    return this.sources.filter(({ name }) => !this.items.some(({ kind }) => kind === name));
  }

  async read(): Promise<void> {
    const sets = await this.reading.run(() => reply(this.api.GET('/feature-sets')));
    if (!sets) return;
    this.items = sets.items;
    this.sources = sets.sources;
    this.loaded = true;
  }

  async compute(source: string): Promise<void> {
    await this.request.run(() =>
      reply(this.api.POST('/feature-sets/compute', { body: { source } })),
    );
    await this.read();
  }

  /** What the server says of an upload that worked, or undefined. */
  async upload(
    request: RequestState,
    name: string,
    file: File,
    names: File | undefined,
  ): Promise<string[] | undefined> {
    const form = new FormData();
    form.append('name', name);
    form.append('file', file, file.name);
    if (names) form.append('names', names, names.name);
    const body = { name, file: file.name };
    const uploaded = await request.run(() =>
      reply(this.api.POST('/feature-sets', { body, bodySerializer: () => form })),
    );
    if (uploaded) await this.read();
    return uploaded?.notes;
  }

  async rename(request: RequestState, { id }: FeatureSet, name: string): Promise<boolean> {
    const path = at({ set_id: id });
    const renamed = await request.succeeds(() =>
      reply(this.api.PATCH('/feature-sets/{set_id}', { ...path, body: { name } })),
    );
    if (renamed) await this.read();
    return renamed;
  }

  async remove(request: RequestState, { id }: FeatureSet): Promise<boolean> {
    const removed = await request.succeeds(() =>
      reply(this.api.DELETE('/feature-sets/{set_id}', at({ set_id: id }))),
    );
    if (removed) await this.read();
    return removed;
  }
}
