/** A campaign's links and what is owed on them, read again whenever the campaign tells of a change. */
import { request, requestAll } from '../../api/client';
import type {
  ChangedLink,
  Invitation,
  InvitationsMade,
  Link,
  NewLink,
  Owed,
} from '../../api/types';

export type Action = 'pause' | 'resume' | 'stop';

export class Links {
  links = $state.raw<Link[] | null>(null);
  owed = $state.raw<Owed[]>([]);
  /** How often all was read: what reads more of it follows. */
  version = $state(0);

  private asked = 0;

  constructor(readonly campaignId: string) {}

  get path(): string {
    return `/api/v1/campaigns/${this.campaignId}`;
  }

  async load(): Promise<void> {
    const asked = (this.asked += 1);
    const [links, owed] = await Promise.all([
      requestAll<Link>(`${this.path}/links`),
      requestAll<Owed>(`${this.path}/owed?state=due`),
    ]);
    // A later question may have been answered before.
    if (asked !== this.asked) return;
    this.links = links;
    this.owed = owed;
    this.version += 1;
  }

  make(body: Partial<NewLink>): Promise<Link> {
    return this.change(`/links`, 'POST', body);
  }

  update(link: Link, body: Partial<ChangedLink>): Promise<Link> {
    return this.change(`/links/${link.id}`, 'PATCH', body);
  }

  act(link: Link, action: Action): Promise<Link> {
    return this.change(`/links/${link.id}/${action}`, 'POST');
  }

  invite(link: Link, body: { people: string } | { number: number }): Promise<InvitationsMade> {
    return this.change(`/links/${link.id}/invitations`, 'POST', body);
  }

  invitations(link: Link): Promise<Invitation[]> {
    return requestAll<Invitation>(`${this.path}/links/${link.id}/invitations`);
  }

  revoke(link: Link, { id }: Invitation): Promise<Invitation> {
    return this.change(`/links/${link.id}/invitations/${id}/revoke`, 'POST');
  }

  markPaid(payment_ids: string[], note: string): Promise<{ marked: number }> {
    return this.change('/owed/paid', 'POST', { payment_ids, note });
  }

  private async change<T>(path: string, method: 'POST' | 'PATCH', body?: unknown): Promise<T> {
    const reply = await request<T>(
      `${this.path}${path}`,
      body === undefined ? { method } : { method, body },
    );
    await this.load();
    return reply;
  }
}
