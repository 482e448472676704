/** A campaign's links and what is owed on them, read again whenever the campaign tells of a change. */
import { allItems, at, campaignApi, reply, type CampaignApi } from '../../api/client';
import type {
  ChangedLink,
  Invitation,
  InvitationsMade,
  Link,
  NewLink,
  Owed,
  Panel,
} from '../../api/types';

export type Action = 'pause' | 'resume' | 'stop';

export class Links {
  links = $state.raw<Link[] | null>(null);
  owed = $state.raw<Owed[]>([]);
  /** What a link's form can be filled in for. */
  panels = $state.raw<readonly Panel[]>([]);
  /** How often all was read: what reads more of it follows. */
  version = $state(0);

  private asked = 0;

  private readonly api: CampaignApi;

  constructor(readonly campaignId: string) {
    this.api = campaignApi(campaignId);
  }

  async load(): Promise<void> {
    const asked = (this.asked += 1);
    const [links, owed] = await Promise.all([
      allItems((query) => this.api.GET('/links', { params: { query } })),
      allItems((page) => this.api.GET('/owed', { params: { query: { ...page, state: 'due' } } })),
    ]);
    // A later question may have been answered before.
    if (asked !== this.asked) return;
    this.links = links;
    this.owed = owed;
    this.version += 1;
  }

  async loadPanels(): Promise<void> {
    this.panels = (await reply(this.api.GET('/links/panels'))).panels;
  }

  make(body: NewLink): Promise<Link> {
    return this.change(this.api.POST('/links', { body }));
  }

  update({ id }: Link, body: ChangedLink): Promise<Link> {
    return this.change(this.api.PATCH('/links/{link_id}', { ...at({ link_id: id }), body }));
  }

  act({ id }: Link, action: Action): Promise<Link> {
    return this.change(this.api.POST('/links/{link_id}/{action}', at({ link_id: id, action })));
  }

  invite({ id }: Link, body: { people: string } | { number: number }): Promise<InvitationsMade> {
    const call = { ...at({ link_id: id }), body };
    return this.change(this.api.POST('/links/{link_id}/invitations', call));
  }

  invitations({ id }: Link): Promise<Invitation[]> {
    return allItems((query) =>
      this.api.GET('/links/{link_id}/invitations', { params: { path: { link_id: id }, query } }),
    );
  }

  revoke(link: Link, { id }: Invitation): Promise<Invitation> {
    const place = at({ link_id: link.id, invitation_id: id });
    return this.change(this.api.POST('/links/{link_id}/invitations/{invitation_id}/revoke', place));
  }

  markPaid(payment_ids: string[], note: string): Promise<{ marked: number }> {
    return this.change(this.api.POST('/owed/paid', { body: { payment_ids, note } }));
  }

  private async change<T>(call: Promise<{ data?: T }>): Promise<T> {
    const changed = await reply(call);
    await this.load();
    return changed;
  }
}
