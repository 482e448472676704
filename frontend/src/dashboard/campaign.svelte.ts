/** One event stream a campaign, shared by all islands of the page. */
import { request } from '../api/client';
import type { Progress } from '../api/types';

export class LiveCampaign {
  progress = $state<Progress | null>(null);
  connected = $state(true);

  constructor(readonly id: string) {
    const events = new EventSource(`/api/campaigns/${id}/events`);
    events.addEventListener('progress', (event) => {
      this.progress = JSON.parse(event.data as string) as Progress;
      this.connected = true;
    });
    // EventSource connects again by itself; meanwhile the page says that it may be behind.
    events.addEventListener('error', () => (this.connected = false));
  }

  async act(action: string): Promise<void> {
    this.progress = await request<Progress>(`/api/campaigns/${this.id}/actions/${action}`, {
      method: 'POST',
    });
  }
}

const campaigns = new Map<string, LiveCampaign>();

export function liveCampaign(id: string): LiveCampaign {
  const known = campaigns.get(id) ?? new LiveCampaign(id);
  campaigns.set(id, known);
  return known;
}
