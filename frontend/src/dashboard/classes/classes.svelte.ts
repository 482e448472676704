/** What the shown model says about classes, and part of the labelled images. */
import type { ModelApi } from '../../api/client';
import type { Classified, ClassQuality } from '../../api/types';
import { LabelledImages } from '../labelled/labelled.svelte';
import { type ClassFilter, queryOf, type Tab } from './classes';

export class ClassifiedImages extends LabelledImages<ClassQuality, Classified, Tab, ClassFilter> {
  filter = $state.raw<ClassFilter>({ tab: 'surest', label: null, asked: null });
  readonly names = $derived(this.quality?.classes.map(({ name }) => name) ?? []);

  protected override qualityOf(api: ModelApi) {
    return api.GET('/class-quality');
  }

  protected override pageOf(api: ModelApi, filter: ClassFilter, after: string | null) {
    return api.GET('/classes', { params: { query: queryOf(filter, after) } });
  }
}
