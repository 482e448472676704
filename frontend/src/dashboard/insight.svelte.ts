/** What the shown model tells of attributes and annotators. */
import { ApiError, request } from '../api/client';
import type { Insight } from '../api/types';
import { ShownModel } from './models.svelte';

export class ShownInsight extends ShownModel {
  insight = $state.raw<Insight | null>(null);
  error = $state('');
  private readonly root: string;

  constructor(campaignId: string) {
    super(campaignId);
    this.root = `/api/v1/campaigns/${campaignId}`;
    $effect(() => {
      if (this.version !== undefined && this.hasInsight) void this.load(this.version);
    });
  }

  private async load(version: number): Promise<void> {
    await this.tell(async () => {
      const loaded = await request<Insight>(`${this.root}/models/${version}/insight`);
      if (version === this.version) this.insight = loaded;
    });
  }

  /** Let later rounds ask about one attribute; null: about all in turn. */
  async askAbout(attribute: number | null): Promise<void> {
    await this.tell(async () => {
      await request(`${this.root}/focus`, { method: 'POST', body: { attribute } });
      if (this.insight) this.insight = { ...this.insight, focus: attribute };
    });
  }

  private async tell(action: () => Promise<void>): Promise<void> {
    try {
      await action();
      this.error = '';
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      this.error = problem.detail;
    }
  }
}
