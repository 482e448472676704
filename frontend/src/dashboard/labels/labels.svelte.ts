/** What the shown model says about yes and no, and part of the labelled images. */
import type { ModelApi } from '../../api/client';
import type { Label, LabelQuality } from '../../api/types';
import type { Filter } from '../labelled/labelled';
import { LabelledImages } from '../labelled/labelled.svelte';
import { queryOf, type Tab } from './labels';

export class Labelled extends LabelledImages<LabelQuality, Label, Tab> {
  filter = $state.raw<Filter<Tab>>({ tab: 'ranked', asked: null });

  protected override qualityOf(api: ModelApi) {
    return api.GET('/label-quality');
  }

  protected override pageOf(api: ModelApi, filter: Filter<Tab>, after: string | null) {
    return api.GET('/labels', { params: { query: queryOf(filter, after) } });
  }
}
