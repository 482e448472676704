/** A campaign being set up: every change is saved as a draft, so that nothing is lost. */
import { ApiError, request, requestAll } from '../../api/client';
import type { Campaign, Collection, Options, Plan } from '../../api/types';
import { beginWith, suggestedBudget, viewsOf } from './suggestions';

/** Milliseconds of quiet after typing. */
const QUIET = 350;
const NESTED = ['settings', 'annotation', 'plan'] as const;
export type Changes = Partial<Record<keyof Campaign, unknown>>;

/** The later changes over the earlier ones; nested settings field by field. */
export function merged(earlier: Changes, later: Changes): Changes {
  const nested = NESTED.filter((name) => name in earlier && name in later).map((name) => [
    name,
    { ...(earlier[name] as object), ...(later[name] as object) },
  ]);
  return { ...earlier, ...later, ...Object.fromEntries(nested) };
}

export class CampaignDraft {
  options = $state.raw<Options | null>(null);
  collections = $state.raw<Collection[]>([]);
  campaign = $state.raw<Campaign | null>(null);
  plan = $state.raw<Plan | null>(null);
  error = $state('');
  saving = $state(false);
  /** Rises with everything that is saved: what shows the campaign shows it anew. */
  saved = $state(0);
  /** The budget was chosen by hand: no suggestion takes its place. */
  private chosenBudget = false;
  private pending: Changes = {};
  private timer: ReturnType<typeof setTimeout> | undefined;
  private queue: Promise<void> = Promise.resolve();

  get collection(): Collection | undefined {
    return this.collections.find(({ id }) => id === this.campaign?.collection_id);
  }

  async open(campaignId: string, collectionId: string): Promise<void> {
    await this.tell(async () => {
      [this.options, this.collections] = await Promise.all([
        request<Options>('/api/v1/options'),
        requestAll<Collection>('/api/v1/collections'),
      ]);
      if (campaignId) {
        this.campaign = await request<Campaign>(`/api/v1/campaigns/${campaignId}`);
        this.chosenBudget = true;
        await this.readPlan();
      } else if (collectionId) {
        await this.choose(collectionId);
      }
    });
  }

  /** Makes the draft, or moves it to another collection. */
  async choose(collectionId: string): Promise<void> {
    const collection = this.collections.find(({ id }) => id === collectionId);
    if (!collection || !this.options) return;
    if (this.campaign) return this.put(this.resized({ collection_id: collectionId }));
    const { options } = this;
    await this.tell(async () => {
      const body = beginWith(collection, 'grid', options);
      this.campaign = await request<Campaign>('/api/v1/campaigns', { method: 'POST', body });
      history.replaceState(null, '', `/campaigns/${this.campaign.id}/edit`);
      await this.readPlan();
    });
  }

  /** Shows the change at once and saves it after a moment. */
  change(changes: Changes): void {
    if ('budget' in changes) this.chosenBudget = true;
    this.put(changes);
  }

  private put(changes: Changes): void {
    if (!this.campaign) return;
    const nested = Object.fromEntries(
      NESTED.filter((name) => name in changes).map((name) => [
        name,
        { ...(this.campaign?.[name] as object), ...(changes[name] as object) },
      ]),
    );
    this.campaign = { ...this.campaign, ...changes, ...nested } as Campaign;
    this.pending = merged(this.pending, changes);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.flush(), QUIET);
  }

  /** Another kind of task, with the strategy and sizes that suit it. */
  chooseKind(kind: string): void {
    if (!this.collection || !this.options || kind === this.campaign?.kind) return;
    const body = beginWith(this.collection, kind, this.options);
    const { strategy, grid_size, max_groups, rounds, budget, question, name } = body;
    // What was suggested for the kind before, and nobody has changed.
    const usual = beginWith(this.collection, this.campaign?.kind ?? '', this.options);
    this.put({
      kind,
      ...(this.campaign?.question === usual.question ? { question } : {}),
      ...(this.campaign?.name === usual.name ? { name } : {}),
      strategy,
      grid_size,
      max_groups,
      rounds,
      ...(this.chosenBudget ? {} : { budget }),
    });
  }

  private resized(changes: Changes): Changes {
    const collection = this.collections.find(({ id }) => id === changes.collection_id);
    if (!collection || !this.campaign || this.chosenBudget) return changes;
    const views = viewsOf(this.options?.kinds[this.campaign.kind]);
    const budget = suggestedBudget(collection.n_images, this.campaign.grid_size, views);
    return { ...changes, budget };
  }

  /** Everything saved; rejects nothing: what is wrong stands in `error`. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    const body = this.pending;
    this.pending = {};
    if (Object.keys(body).length > 0) this.queue = this.queue.then(() => this.save(body));
    await this.queue;
  }

  private async save(body: Changes): Promise<void> {
    this.saving = true;
    let stored: Campaign | null = null;
    await this.tell(async () => {
      const path = `/api/v1/campaigns/${this.campaign?.id}`;
      stored = await request<Campaign>(path, { method: 'PATCH', body });
      // What was typed meanwhile is newer than the reply.
      if (Object.keys(this.pending).length === 0) this.campaign = stored;
      await this.readPlan();
      this.saved += 1;
    });
    // What was refused stays as it was typed, and is sent again with what puts it right.
    if (stored === null) this.pending = merged(body, this.pending);
    this.saving = false;
  }

  async readPlan(): Promise<void> {
    this.plan = await request<Plan>(`/api/v1/campaigns/${this.campaign?.id}/plan`);
  }

  async launch(): Promise<void> {
    await this.flush();
    if (this.error) return;
    await this.tell(async () => {
      await request(`/api/v1/campaigns/${this.campaign?.id}/actions/start`, { method: 'POST' });
      location.assign(`/campaigns/${this.campaign?.id}`);
    });
  }

  /** Does something; what the server refuses stands in `error`. */
  async tell(action: () => Promise<void>): Promise<void> {
    try {
      await action();
      this.error = '';
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      this.error = problem.detail;
    }
  }
}
