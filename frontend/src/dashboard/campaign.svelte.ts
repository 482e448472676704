/** One event stream a campaign, shared by all islands of the page. */
import { at, campaignApi, reply } from '../api/client';
import type { CampaignAction, Progress } from '../api/types';
import { reconnectDelay } from './reconnect';
import { addressOf } from '../lib/readOnlyView';

export class LiveCampaign {
  progress = $state<Progress | null>(null);
  connected = $state(true);
  /** Counts what was told to have changed, also beyond the progress. */
  changes = $state(0);

  private failures = 0;

  constructor(readonly id: string) {
    this.connect();
  }

  private connect(): void {
    const events = new EventSource(addressOf(`/api/v1/campaigns/${this.id}/events`));
    events.addEventListener('progress', (event) => {
      this.progress = JSON.parse(event.data as string) as Progress;
      this.connected = true;
      this.failures = 0;
    });
    events.addEventListener('changed', () => {
      this.changes += 1;
    });
    // The server asks now and then whether who sees this is signed in still.
    events.addEventListener('again', () => {
      events.close();
      this.connect();
    });
    events.addEventListener('error', () => {
      // Until then, the page says that it may be out of date.
      this.connected = false;
      // A lost connection is made again by itself; after a reply such as 502 it never is.
      if (events.readyState !== EventSource.CLOSED) return;
      events.close();
      setTimeout(() => this.connect(), reconnectDelay(this.failures, Math.random()));
      this.failures += 1;
    });
  }

  async act(action: CampaignAction): Promise<void> {
    const call = campaignApi(this.id).POST('/actions/{action}', at({ action }));
    this.progress = await reply(call);
  }
}

const campaigns = new Map<string, LiveCampaign>();

export function liveCampaign(id: string): LiveCampaign {
  const known = campaigns.get(id) ?? new LiveCampaign(id);
  campaigns.set(id, known);
  return known;
}
