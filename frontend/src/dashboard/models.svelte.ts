/** The model that a page of a campaign shows. */
import { liveCampaign, type LiveCampaign } from './campaign.svelte';

export class ShownModel {
  wanted = $state<number | 'newest'>('newest');

  readonly live: LiveCampaign;

  constructor(campaignId: string) {
    this.live = liveCampaign(campaignId);
  }

  /** Numbers of all models so far, oldest first. */
  get versions(): number[] {
    return (this.live.progress?.models ?? []).map((model) => model.version);
  }

  /** Undefined before the first model. */
  get version(): number | undefined {
    return this.wanted === 'newest' ? this.versions.at(-1) : this.wanted;
  }

  /** What later rounds ask about can be chosen: of the newest model, while rounds may come. */
  get open(): boolean {
    return this.live.progress?.state !== 'finished' && this.version === this.versions.at(-1);
  }

  get hasInsight(): boolean {
    return this.model?.has_insight ?? false;
  }

  /** Whether it has clusters of its own. */
  get hasMemberships(): boolean {
    return this.model?.has_memberships ?? false;
  }

  /** Whether it labels every image by votes. */
  get hasLabels(): boolean {
    return this.model?.has_labels ?? false;
  }

  /** Whether it is measured how many of each image's neighbours would stay. */
  get hasSettled(): boolean {
    return this.model?.has_settled ?? false;
  }

  /** Whether nothing it learned predicts answers, so that its places mean nothing. */
  get noAgreement(): boolean {
    return this.model?.no_agreement ?? false;
  }

  private get model() {
    return this.live.progress?.models.find((model) => model.version === this.version);
  }
}
