/** What the shown model tells of attributes and annotators. */
import { campaignApi, modelApi, reply } from '../api/client';
import type { Insight } from '../api/types';
import { RequestState } from '../lib/request.svelte';
import { ShownModel } from './models.svelte';

export class ShownInsight extends ShownModel {
  insight = $state.raw<Insight | null>(null);
  readonly request = new RequestState();

  constructor(private readonly campaignId: string) {
    super(campaignId);
    $effect(() => {
      if (this.version !== undefined && this.hasInsight) void this.load(this.version);
    });
  }

  private async load(version: number): Promise<void> {
    await this.request.run(async () => {
      const loaded = await reply(modelApi(this.campaignId, version).GET('/insight'));
      if (version === this.version) this.insight = loaded;
    });
  }

  /** Let later rounds ask about one attribute; null: about all in turn. */
  async askAbout(attribute: number | null): Promise<void> {
    await this.request.run(async () => {
      await reply(campaignApi(this.campaignId).POST('/focus', { body: { attribute } }));
      if (this.insight) this.insight = { ...this.insight, focus: attribute };
    });
  }
}
