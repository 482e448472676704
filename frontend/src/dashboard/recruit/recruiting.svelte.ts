/** Everything the page of recruiting knows, read again whenever the campaign tells of a change. */
import { request, requestAll } from '../../api/client';
import type {
  ChannelAccount,
  Payment,
  PaymentTotal,
  PaymentTotals,
  Reconciliation,
  RecruitingOptions,
  Recruitment,
  Submission,
} from '../../api/types';
import { attention, type Found, type Item } from './attention';

/** States of payments that wait for a person. */
const STOPPED = ['held', 'failed', 'parked'];

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

  constructor(readonly campaignId: string) {}

  get path(): string {
    return `/api/v1/campaigns/${this.campaignId}`;
  }

  /** Whether it is the requester's own account on the platform that pays. */
  paysFor(recruitment: Recruitment): boolean {
    return this.accounts.some(({ id }) => id === recruitment.channel_account_id);
  }

  /** What does not change while the page is open. */
  async begin(): Promise<void> {
    [this.accounts] = await Promise.all([
      requestAll<ChannelAccount>('/api/v1/channel-accounts'),
      this.suggest(),
      this.load(),
    ]);
  }

  async suggest(): Promise<void> {
    this.options = await request<RecruitingOptions>(`${this.path}/recruiting/options`);
  }

  async load(): Promise<void> {
    const asked = (this.asked += 1);
    const recruitments = await requestAll<Recruitment>(`${this.path}/recruitments`);
    const begun = recruitments.filter(({ state }) => state !== 'draft');
    const [flagged, rejected, { totals }, ...reconciliations] = await Promise.all([
      requestAll<Submission>(`${this.path}/submissions?flagged=true`),
      requestAll<Submission>(`${this.path}/submissions?rejected=true`),
      request<PaymentTotals>(`${this.path}/payments/totals`),
      ...begun.map(({ id }) =>
        request<Reconciliation>(`${this.path}/recruitments/${id}/reconciliation`),
      ),
    ]);
    const stopped = totals.filter(({ state }) => STOPPED.includes(state));
    const payments = await Promise.all(
      [...new Set(stopped.map(({ state }) => state))].map((state) =>
        requestAll<Payment>(`${this.path}/payments?state=${state}`),
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

  /** Ask for something, then read everything again. */
  async change<T>(path: string, method: 'POST' | 'PUT' | 'DELETE', body?: unknown): Promise<T> {
    const options = body === undefined ? { method } : { method, body };
    const reply = await request<T>(`${this.path}${path}`, options);
    await this.load();
    return reply;
  }

  /** Have the platform asked, and wait until it has answered; gives up after ten seconds. */
  async look(recruitment: Recruitment): Promise<boolean> {
    await request(`${this.path}/recruitments/${recruitment.id}/poll`, { method: 'POST' });
    for (let waited = 0; waited < 20; waited += 1) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      const path = `${this.path}/recruitments/${recruitment.id}`;
      const now = await request<Recruitment>(path);
      if (now.polled_at !== recruitment.polled_at) {
        await this.load();
        return true;
      }
    }
    return false;
  }
}
