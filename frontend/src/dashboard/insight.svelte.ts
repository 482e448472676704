/** What the shown model tells of attributes and annotators. */
import { at, campaignApi, modelApi, reply } from '../api/client';
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

  /** A blank name removes it. */
  async rename(index: number, name: string): Promise<void> {
    await this.change((version) =>
      reply(
        modelApi(this.campaignId, version).PUT('/attributes/{index}/name', {
          ...at({ index }),
          body: { name },
        }),
      ),
    );
  }

  /** Makes one of several attributes. Whether it was done. */
  async merge(attributes: number[]): Promise<boolean> {
    return this.change((version) =>
      reply(
        modelApi(this.campaignId, version).POST('/attributes/merge', {
          body: { attributes, name: '' },
        }),
      ),
    );
  }

  /** Splits a merged attribute into its parts. Whether it was done. */
  async split(index: number): Promise<boolean> {
    return this.change((version) =>
      reply(modelApi(this.campaignId, version).DELETE('/attributes/{index}/merge', at({ index }))),
    );
  }

  private async change(send: (version: number) => Promise<unknown>): Promise<boolean> {
    const version = this.insight?.version;
    if (version === undefined) return false;
    const done = await this.request.succeeds(() => send(version));
    if (done) await this.load(version);
    return done;
  }

  /** Let later rounds ask about one attribute; null: about all in turn. */
  async askAbout(attribute: number | null): Promise<void> {
    await this.request.run(async () => {
      await reply(campaignApi(this.campaignId).POST('/focus', { body: { attribute } }));
      if (this.insight) this.insight = { ...this.insight, focus: attribute };
    });
  }
}
