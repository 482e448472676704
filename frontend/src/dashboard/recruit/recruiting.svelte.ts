/** Everything the page of recruiting knows, read again whenever the campaign tells of a change. */
import { allItems, api, at, campaignApi, reply, type CampaignApi } from '../../api/client';
import type {
  ChannelAccount,
  PaymentState,
  PaymentTotal,
  Reconciliation,
  RecruitingOptions,
  Recruitment,
  Submission,
} from '../../api/types';
import { attention, type Found, type Item } from './attention';
import { learnPlatforms } from './platforms.svelte';

/** States of payments that wait for a person. */
const STOPPED: PaymentState[] = ['held', 'failed', 'parked'];

export class Recruiting {
  options = $state.raw<RecruitingOptions | null>(null);
  accounts = $state.raw<ChannelAccount[]>([]);
  recruitments = $state.raw<Recruitment[] | null>(null);
  reconciliations = $state.raw<Reconciliation[]>([]);
  rejected = $state.raw<Submission[]>([]);
  totals = $state.raw<PaymentTotal[]>([]);
  items = $state.raw<Item[]>([]);
  /** The draft that is being planned. */
  draft = $state<string | null>(null);
  /** How often all was read: what reads more of it follows. */
  version = $state(0);

  private asked = 0;

  readonly api: CampaignApi;

  constructor(readonly campaignId: string) {
    this.api = campaignApi(campaignId);
  }

  /** Whether it is the requester's own account on the platform that pays. */
  paysFor(recruitment: Recruitment): boolean {
    return this.accounts.some(({ id }) => id === recruitment.channel_account_id);
  }

  /** What does not change while the page is open. */
  async begin(): Promise<void> {
    [this.accounts] = await Promise.all([
      allItems((query) => api().GET('/channel-accounts', { params: { query } })),
      this.suggest(),
      this.load(),
    ]);
  }

  async suggest(): Promise<void> {
    this.options = await reply(this.api.GET('/recruiting/options'));
    learnPlatforms(this.options.channels);
  }

  async load(): Promise<void> {
    const asked = (this.asked += 1);
    const recruitments = await allItems((query) =>
      this.api.GET('/recruitments', { params: { query } }),
    );
    const begun = recruitments.filter(({ state }) => state !== 'draft');
    const [flagged, rejected, { totals }, ...reconciliations] = await Promise.all([
      this.submissions({ flagged: true }),
      this.submissions({ rejected: true }),
      reply(this.api.GET('/payments/totals')),
      ...begun.map(({ id }) =>
        reply(
          this.api.GET('/recruitments/{recruitment_id}/reconciliation', at({ recruitment_id: id })),
        ),
      ),
    ]);
    const stopped = STOPPED.filter((state) => totals.some((one) => one.state === state));
    const payments = await Promise.all(
      stopped.map((state) =>
        allItems((page) => this.api.GET('/payments', { params: { query: { ...page, state } } })),
      ),
    );
    // A later question may have been answered before.
    if (asked !== this.asked) return;
    const found: Found[] = begun.map((recruitment, at) => ({
      recruitment,
      differences: reconciliations[at]?.differences ?? [],
    }));
    this.recruitments = recruitments;
    this.reconciliations = reconciliations;
    this.rejected = rejected;
    this.totals = totals;
    this.items = attention(found, flagged, payments.flat());
    this.version += 1;
  }

  private submissions(which: { flagged?: true; rejected?: true }): Promise<Submission[]> {
    return allItems((page) =>
      this.api.GET('/submissions', { params: { query: { ...page, ...which } } }),
    );
  }

  /** Waits for a change, then reads everything again. */
  async change<T>(call: Promise<{ data?: T }>): Promise<T> {
    const changed = await reply(call);
    await this.load();
    return changed;
  }

  /** Have the platform asked, and wait until it has answered; gives up after ten seconds. */
  async look(recruitment: Recruitment): Promise<boolean> {
    const place = at({ recruitment_id: recruitment.id });
    await reply(this.api.POST('/recruitments/{recruitment_id}/poll', place));
    for (let waited = 0; waited < 20; waited += 1) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      const now = await reply(this.api.GET('/recruitments/{recruitment_id}', place));
      if (now.polled_at !== recruitment.polled_at) {
        await this.load();
        return true;
      }
    }
    return false;
  }
}
