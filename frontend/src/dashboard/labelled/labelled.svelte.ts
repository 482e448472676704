/** What the shown model says about labels, and part of the labelled images. */
import { reply, type ModelApi } from '../../api/client';
import { ModelImages } from '../modelImages.svelte';
import type { Filter } from './labelled';

export abstract class LabelledImages<
  Quality,
  Item,
  Tab extends string,
  Filters extends Filter<Tab> = Filter<Tab>,
> extends ModelImages<Item, Filters> {
  quality = $state.raw<Quality | null>(null);

  protected abstract qualityOf(api: ModelApi): Promise<{ data?: Quality }>;

  /** Those of another model; what is shown stays until they have come. */
  async of(version: number): Promise<void> {
    const api = this.changedTo(version);
    if (!api) return;
    const quality = await this.request.run(() => reply(this.qualityOf(api)));
    if (api !== this.api) return;
    this.quality = quality ?? null;
    if (quality) await this.choose({});
  }
}
