/** The images that a search finds, loaded page by page where they are looked at. */
import { SvelteMap } from 'svelte/reactivity';
import { collectionApi, reply } from '../../api/client';
import type { AttributeValues, Image, Shapes } from '../../api/types';
import { RequestState } from '../../lib/request.svelte';
import { nothingWanted, parametersOf, type Query } from './query';

const PAGE = 100;

export class ImageList {
  query = $state.raw<Query>(nothingWanted);
  total = $state(0);
  /** Images of the collection, found or not. */
  nImages = $state(0);
  attributes = $state.raw<AttributeValues[]>([]);
  /** Images whose sides are more than 4:1. */
  shapes = $state.raw<Shapes>({ n_extreme: 0, examples: [] });
  loaded = $state(false);
  readonly request = new RequestState();

  private readonly pages = new SvelteMap<number, Image[]>();
  private readonly asked = new Set<number>();
  private generation = 0;
  private seen = { first: 0, end: 0 };

  constructor(private id: string) {}

  set collection(id: string) {
    this.id = id;
  }

  at(index: number): Image | undefined {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  async show(query: Query): Promise<void> {
    this.query = query;
    this.pages.clear();
    await this.refresh(false);
  }

  /**
   * Ask again for what is in view; what is shown stays until the answer is there. Counting the
   * attributes' values and shapes takes the longest, and can wait until the last image has come.
   */
  async refresh(withCounts = true): Promise<void> {
    this.generation += 1;
    this.asked.clear();
    if (!this.id) return;
    await Promise.all([
      this.need(this.seen.first, Math.max(this.seen.end, 1)),
      this.count(withCounts),
    ]);
  }

  private async count(withCounts: boolean): Promise<void> {
    await this.request.run(async () => {
      const api = collectionApi(this.id);
      this.nImages = (await reply(api.GET(''))).n_images;
      if (!withCounts) return;
      this.attributes = (await reply(api.GET('/attributes'))).items;
      this.shapes = await reply(api.GET('/shapes'));
    });
  }

  /** Load the pages of these images, if they are not there. */
  async need(first: number, end: number): Promise<void> {
    this.seen = { first, end };
    if (!this.id) return;
    const wanted = [];
    for (let page = Math.floor(first / PAGE); page * PAGE < end; page += 1) wanted.push(page);
    await Promise.all(wanted.map((page) => this.load(page)));
  }

  /** All images from one index to another, also those that were never in view. */
  async between(first: number, last: number): Promise<Image[]> {
    const { seen } = this;
    await this.need(first, last + 1);
    this.seen = seen;
    const found = [];
    for (let index = first; index <= last; index += 1) {
      const image = this.at(index);
      if (image) found.push(image);
    }
    return found;
  }

  private async load(page: number): Promise<void> {
    if (this.asked.has(page)) return;
    this.asked.add(page);
    const { generation } = this;
    const params = { query: { ...parametersOf(this.query), offset: page * PAGE, limit: PAGE } };
    await this.request.run(async () => {
      try {
        const found = await reply(collectionApi(this.id).GET('/images', { params }));
        if (generation !== this.generation) return;
        if (this.total !== found.total) this.forgetBehind(found.total);
        this.total = found.total;
        this.pages.set(page, found.items);
        this.loaded = true;
      } catch (problem) {
        this.asked.delete(page);
        throw problem;
      }
    });
  }

  private forgetBehind(total: number): void {
    for (const page of [...this.pages.keys()]) {
      if (page * PAGE >= total) this.pages.delete(page);
    }
  }
}
