/** A plan while it is being made: what it costs is told by the server, and the limit follows that
 * until somebody sets one. */
import { reply, type CampaignApi } from '../../api/client';
import type {
  ChannelAccount,
  ChannelOptions,
  Estimate,
  EstimateIn,
  NewRecruitment,
  RecruitingOptions,
  Recruitment,
} from '../../api/types';
import { fieldsOf } from '../forms/schema';

export type Settings = Record<string, unknown>;

export class Plan {
  accountId = $state('');
  name = $state('');
  places = $state(1);
  reward = $state(0);
  settings = $state.raw<Settings>({});
  estimate = $state.raw<Estimate | null>(null);
  /** Places that the estimate is of: others may be typed in the meantime. */
  estimatedPlaces = $state(1);
  /** null: what the plan costs at most. */
  ownLimit = $state<number | null>(null);

  constructor(
    private readonly accounts: readonly ChannelAccount[],
    private readonly options: RecruitingOptions,
    draft: Recruitment | null,
  ) {
    // What worked at the last check is offered first.
    const fit = accounts.find(({ checked }) => checked && checked.problems.length === 0);
    this.accountId = draft?.channel_account_id ?? (fit ?? accounts[0])?.id ?? '';
    this.name = draft && draft.name !== draft.account_name ? draft.name : '';
    this.places = draft?.places ?? Math.max(1, Math.min(10_000, options.places));
    this.reward = draft?.reward_cents ?? options.reward_cents;
    this.settings = draft?.settings ?? this.suggested();
    this.ownLimit = draft?.money.limit_cents ?? null;
  }

  get account(): ChannelAccount | undefined {
    return this.accounts.find(({ id }) => id === this.accountId);
  }

  get channel(): ChannelOptions | undefined {
    return this.options.channels.find(({ channel }) => channel === this.account?.channel);
  }

  get currency(): string {
    return this.channel?.currency ?? '';
  }

  get limit(): number {
    return this.ownLimit ?? this.estimate?.total_cents ?? 0;
  }

  /** Every setting's default; where people are told how long it takes, that is known. */
  private suggested(): Settings {
    const fields = fieldsOf(this.channel?.settings ?? {});
    const usual = Object.fromEntries(fields.map(({ name, fallback }) => [name, fallback]));
    if (!('minutes_estimated' in usual)) return usual;
    return { ...usual, minutes_estimated: Math.min(600, this.options.minutes) };
  }

  choose(accountId: string): void {
    const before = this.channel;
    this.accountId = accountId;
    if (this.channel === before) return;
    // What was decided and means the same there goes along.
    const kept = decided(this.settings, before?.settings ?? {});
    const known = fieldsOf(this.channel?.settings ?? {}).map(({ name }) => name);
    const fitting = Object.entries(kept).filter(([name]) => known.includes(name));
    this.settings = { ...this.suggested(), ...Object.fromEntries(fitting) };
    this.estimate = null;
  }

  /** What the server needs to know for the price; null while it cannot be told. */
  get priced(): EstimateIn | null {
    const { channel, places, reward, settings } = this;
    if (!channel || !Number.isInteger(places) || places < 1 || places > 10_000) return null;
    return { channel: channel.channel, places, reward_cents: reward, settings };
  }

  async price(api: CampaignApi, body: EstimateIn): Promise<void> {
    const estimate = await reply(api.POST('/recruiting/estimate', { body }));
    // The plan may have changed in the meantime.
    if (JSON.stringify(body) !== JSON.stringify(this.priced)) return;
    this.estimate = estimate;
    this.estimatedPlaces = this.places;
    if (this.ownLimit === estimate.total_cents) this.ownLimit = null;
  }

  /** Raises TypeError where no account is chosen. */
  get body(): NewRecruitment {
    return {
      channel: this.channel!.channel,
      channel_account_id: this.accountId,
      places: this.places,
      name: this.name,
      reward_cents: this.reward,
      spend_limit_cents: this.limit,
      settings: this.settings,
    };
  }
}

/** Settings that differ from their defaults. */
export function decided(settings: Settings, schema: Record<string, unknown>): Settings {
  const usual = new Map(fieldsOf(schema).map(({ name, fallback }) => [name, fallback]));
  return Object.fromEntries(
    Object.entries(settings).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(usual.get(name)),
    ),
  );
}
