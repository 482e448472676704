/** The alignments of a campaign, followed while the server learns one. */
import { at, campaignApi, reply } from '../../api/client';
import type { Alignable, Alignment, Place } from '../../api/types';
import { RequestState } from '../../lib/request.svelte';

export const MOST_IMAGES = 20;
const NEIGHBOURS = 12;

export function isActive({ state }: Alignment): boolean {
  return state === 'queued' || state === 'running';
}

/** New images with their places. features, version: by which, in the space of which model. */
export interface Placed {
  features: string;
  version: number | undefined;
  places: Place[];
}

function nothingPlaced(): Placed {
  return { features: '', version: undefined, places: [] };
}

export function placedText({ features, places }: Placed): string {
  const images = places.length === 1 ? 'image' : 'images';
  return places.length > 0 ? `Placed ${places.length} ${images} by ${features}.` : '';
}

export class Alignments {
  items = $state.raw<Alignment[]>([]);
  others = $state.raw<Alignable[]>([]);
  /** Why nothing can be aligned; null if that is possible. */
  reason = $state<string | null>(null);
  nImages = $state(0);
  loaded = $state(false);
  /** What was placed last. */
  placed = $state.raw<Placed>(nothingPlaced());
  readonly reading = new RequestState();
  readonly request = new RequestState();

  constructor(readonly campaignId: string) {}

  private get api() {
    return campaignApi(this.campaignId);
  }

  get active(): boolean {
    return this.items.some(isActive);
  }

  /** Those that place new images from the images alone. */
  get placing(): Alignment[] {
    return this.items.filter((item) => item.usable && item.used && item.takes_images);
  }

  async read(): Promise<void> {
    const list = await this.reading.run(() => reply(this.api.GET('/alignments')));
    if (!list) return;
    this.items = list.items;
    this.others = list.others;
    this.reason = list.reason;
    this.nImages = list.n_images;
    this.loaded = true;
  }

  async align(features: string[]): Promise<void> {
    await this.request.run(() => reply(this.api.POST('/alignments', { body: { features } })));
    await this.read();
  }

  /** Place images by an alignment. Empties `placed` with the reason in the request if that fails. */
  async find(request: RequestState, used: Alignment, images: File[]): Promise<void> {
    const places = await this.place(request, used.id, images);
    this.placed = places
      ? { features: used.features, version: used.model_version ?? undefined, places }
      : nothingPlaced();
  }

  /** Places of new images, or undefined with the reason in the request. */
  async place(request: RequestState, id: string, files: File[]): Promise<Place[] | undefined> {
    const form = new FormData();
    for (const file of files) form.append('files', file, file.name);
    form.append('k', String(NEIGHBOURS));
    const body = { files: files.map(({ name }) => name), k: NEIGHBOURS };
    const places = await request.run(() =>
      reply(
        this.api.POST('/alignments/{alignment_id}/image-places', {
          ...at({ alignment_id: id }),
          body,
          bodySerializer: () => form,
        }),
      ),
    );
    return places?.items;
  }
}
