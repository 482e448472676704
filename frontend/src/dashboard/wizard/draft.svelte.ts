/** A campaign being set up: every change is saved as a draft, so that nothing is lost. */
import { allItems, api, at, campaignApi, collectionApi, reply } from '../../api/client';
import { ApiError } from '../../api/errors';
import type {
  Campaign,
  CampaignChanges,
  Collection,
  NewCampaign,
  Options,
  Plan,
} from '../../api/types';
import { isRefusal, saveValid, withoutFields, type Outcome } from '../forms/saving';
import { UnsavedFields } from '../forms/unsaved.svelte';
import { translationsFor } from '../translations/translations';
import { beginWith, suggestedBudget } from './suggestions';

/** Milliseconds of quiet after typing. */
const QUIET = 350;
const NESTED = ['settings', 'annotation', 'plan'] as const;
const TEXTS = ['name', 'question'] as const;
export type Changes = Partial<Record<keyof Campaign, unknown>>;

/** The later changes over the earlier ones; nested settings field by field. */
export function merged(earlier: Changes, later: Changes): Changes {
  // Settings belong to the strategy that they were chosen for.
  const kept: Changes = 'strategy' in later ? { ...earlier, settings: {} } : earlier;
  const nested = NESTED.filter((name) => name in kept && name in later).map((name) => [
    name,
    { ...(kept[name] as object), ...(later[name] as object) },
  ]);
  return { ...kept, ...later, ...Object.fromEntries(nested) };
}

/** What the server stored; a space at a text's end stays while the next word is typed. */
export function asTyped(stored: Campaign, typed: Campaign): Campaign {
  const same = TEXTS.filter((name) => typed[name].trim() === stored[name]);
  return { ...stored, ...Object.fromEntries(same.map((name) => [name, typed[name]])) };
}

export class CampaignDraft {
  options = $state.raw<Options | null>(null);
  collections = $state.raw<Collection[]>([]);
  campaign = $state.raw<Campaign | null>(null);
  plan = $state.raw<Plan | null>(null);
  error = $state('');
  saving = $state(false);
  readonly unsaved = new UnsavedFields();
  /** Rises with everything that is saved: views of the campaign are updated. */
  saved = $state(0);
  /** The budget was chosen by hand: no suggestion takes its place. */
  private chosenBudget = false;
  /** Changed and not yet on its way. */
  private pending: Changes = {};
  /** On its way. */
  private sent: Changes = {};
  /** What the server refused: sent again with every change, which may put it right. */
  private refused: Changes = {};
  private timer: ReturnType<typeof setTimeout> | undefined;
  private queue: Promise<void> = Promise.resolve();

  get collection(): Collection | undefined {
    return this.collections.find(({ id }) => id === this.campaign?.collection_id);
  }

  async open(campaignId: string, collectionId: string): Promise<void> {
    await this.tell(async () => {
      [this.options, this.collections] = await Promise.all([
        reply(api().GET('/options')),
        allItems((query) => api().GET('/collections', { params: { query } })),
      ]);
      if (campaignId) {
        this.campaign = await reply(campaignApi(campaignId).GET(''));
        this.chosenBudget = true;
        await this.readPlan();
      } else if (collectionId) {
        await this.choose(collectionId);
      }
    });
  }

  /** Choices that depend on the campaign: the feature sets of its collection. */
  async readOptions(): Promise<void> {
    const { campaign } = this;
    if (!campaign) return;
    const params = { query: { campaign_id: campaign.id } };
    await this.tell(async () => {
      this.options = await reply(api().GET('/options', { params }));
    });
  }

  /** Makes the draft, or moves it to another collection. */
  choose(collectionId: string): Promise<void> {
    return this.inTurn(() => this.chosen(collectionId));
  }

  private async chosen(collectionId: string): Promise<void> {
    const collection = this.collections.find(({ id }) => id === collectionId);
    if (!collection || !this.options || collectionId === this.campaign?.collection_id) return;
    if (this.campaign) return this.put(this.resized({ collection_id: collectionId }));
    const { options } = this;
    await this.tell(async () => {
      const body = beginWith(collection, 'grid', options);
      this.campaign = await reply(api().POST('/campaigns', { body: body as NewCampaign }));
      history.replaceState(null, '', `/campaigns/${this.campaign.id}/edit`);
      await this.readPlan();
    });
  }

  /** Shows the change at once and saves it after a moment. */
  change(changes: Changes): void {
    if ('budget' in changes) this.chosenBudget = true;
    const { classes } = changes as { classes?: string[] };
    if (!classes) return this.put(changes);
    // There are as many groups as classes: the server counts them itself.
    this.put({ ...changes, ...this.translatedFor(classes) }, { max_groups: classes.length });
  }

  /** Classes that are no more have no names in other languages either. */
  private translatedFor(classes: readonly string[]): Changes {
    const { translations } = this.campaign?.annotation ?? {};
    return { annotation: { translations: translationsFor(translations, classes) } };
  }

  /** `shown`: what follows from the changes. */
  private put(changes: Changes, shown: Changes = {}): void {
    if (!this.campaign) return;
    this.campaign = merged(this.campaign, { ...changes, ...shown }) as Campaign;
    this.pending = merged(this.pending, changes);
    this.saving = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.flush(), QUIET);
  }

  /** Another kind of task, with the strategy and sizes that suit it. */
  chooseKind(kind: string): void {
    if (!this.collection || !this.options || kind === this.campaign?.kind) return;
    const body = beginWith(this.collection, kind, this.options);
    const { strategy, grid_size, max_groups, rounds, budget, question, name } = body;
    const { grids_per_assignment } = body;
    // Names stay if the other kind asks for names as well.
    const classes = this.campaign?.classes.length ? this.campaign.classes : body.classes;
    const named = body.classes.length > 0 ? { classes, max_groups: classes.length } : {};
    // What was suggested for the kind before, and nobody has changed.
    const usual = beginWith(this.collection, this.campaign?.kind ?? '', this.options);
    this.put({
      kind,
      ...(this.campaign?.question === usual.question ? { question } : {}),
      ...(this.campaign?.name === usual.name ? { name } : {}),
      ...(this.campaign?.grids_per_assignment === usual.grids_per_assignment
        ? { grids_per_assignment }
        : {}),
      strategy,
      grid_size,
      max_groups,
      classes: body.classes,
      ...named,
      ...this.translatedFor(body.classes.length > 0 ? classes : []),
      rounds,
      ...(this.chosenBudget ? {} : { budget }),
    });
  }

  private resized(changes: Changes): Changes {
    const collection = this.collections.find(({ id }) => id === changes.collection_id);
    if (!collection || !this.campaign || this.chosenBudget) return changes;
    const views = this.options?.kinds[this.campaign.kind]?.views;
    const budget = suggestedBudget(collection.n_images, this.campaign.grid_size, views);
    return { ...changes, budget };
  }

  /** Deletes the draft, with what was not saved yet; tells whether it is gone. */
  async remove(): Promise<boolean> {
    const { campaign } = this;
    if (!campaign) return false;
    clearTimeout(this.timer);
    this.pending = {};
    this.saving = false;
    let gone = false;
    await this.inTurn(() =>
      this.tell(async () => {
        await reply(campaignApi(campaign.id).DELETE(''));
        gone = true;
      }),
    );
    return gone;
  }

  /** Everything saved; rejects nothing: what is wrong stands in `error`. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    await this.inTurn(() => this.save());
  }

  /** One request after the other: two clicks make one draft, and no older save ends last. */
  private inTurn(action: () => Promise<void>): Promise<void> {
    const done = this.queue.then(action);
    // Its caller hears of a failure; those after it go on.
    this.queue = done.catch(() => undefined);
    return done;
  }

  /** Images may still arrive while the campaign is set up: the suggested budget follows them. */
  private async followCollection(): Promise<void> {
    const before = this.collection;
    if (!before || this.chosenBudget) return;
    await this.tell(async () => {
      const now = await reply(collectionApi(before.id).GET(''));
      if (now.n_images === before.n_images) return;
      this.collections = this.collections.map((listed) => (listed.id === now.id ? now : listed));
      this.put(this.resized({ collection_id: now.id }));
    });
  }

  private async save(): Promise<void> {
    const failed = this.error !== '';
    await this.followCollection();
    if (Object.keys(this.pending).length === 0) {
      this.saving = false;
      // What was stored may still have failed to be read.
      if (failed && this.campaign) await this.tell(() => this.readPlan());
      return;
    }
    this.saving = true;
    const typed = this.pending;
    this.sent = merged(this.refused, typed);
    this.pending = {};
    let outcome: Outcome<Campaign> | null = null;
    await this.tell(async () => {
      outcome = await this.stored(typed);
      this.take(outcome);
      if (!outcome.stored) return;
      await this.readPlan();
      this.saved += 1;
    });
    // What could not be sent is sent again with the next change.
    if (outcome === null) this.pending = merged(this.sent, this.pending);
    this.sent = {};
    this.saving = Object.keys(this.pending).length > 0 && outcome !== null;
  }

  /** Stores what is to be sent, or at least what was typed since something was refused. */
  private async stored(typed: Changes): Promise<Outcome<Campaign>> {
    const patch = (changes: Changes) => this.patch(changes);
    try {
      return await saveValid(this.sent, NESTED, patch);
    } catch (problem) {
      if (!isRefusal(problem) || Object.keys(this.refused).length === 0) throw problem;
      const { stored, refused, problems } = await saveValid(typed, NESTED, patch);
      return {
        stored,
        refused: merged(this.refused, refused),
        problems: { ...this.unsaved.refused, ...problems },
      };
    }
  }

  /** Shows what was stored; what was refused stays as it was typed. */
  private take({ stored, refused, problems }: Outcome<Campaign>): void {
    this.refused = refused;
    this.unsaved.refused = problems;
    // What was typed in the meantime is newer than the reply.
    if (!stored || !this.campaign || Object.keys(this.pending).length > 0) return;
    this.campaign = merged(asTyped(stored, this.campaign), refused) as Campaign;
  }

  private patch(changes: Changes, keepalive = false): Promise<Campaign> {
    const body = changes as CampaignChanges;
    return reply(campaignApi(this.campaign?.id ?? '').PATCH('', { body, keepalive }));
  }

  /** The page is going away: nothing can be waited for, what is unsaved is sent at once. */
  leave(): void {
    clearTimeout(this.timer);
    // A request on its way may be cut off with the page.
    const known = new Set(Object.keys(this.unsaved.refused));
    const body = merged(withoutFields(this.sent, NESTED, known), this.pending);
    if (Object.keys(body).length === 0) return;
    void this.tell(async () => void (await this.patch(body, true)));
  }

  async readPlan(): Promise<void> {
    this.plan = await reply(campaignApi(this.campaign?.id ?? '').GET('/plan'));
  }

  async launch(): Promise<void> {
    await this.flush();
    if (this.error || Object.keys(this.refused).length > 0) return;
    await this.tell(async () => {
      const id = this.campaign?.id ?? '';
      await reply(campaignApi(id).POST('/actions/{action}', at({ action: 'start' })));
      location.assign(`/campaigns/${id}`);
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
