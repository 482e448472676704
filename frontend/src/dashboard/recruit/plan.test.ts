import { describe, expect, it } from 'vitest';
import type {
  ChannelAccount,
  ChannelOptions,
  RecruitingOptions,
  Recruitment,
} from '../../api/types';
import { Plan } from './plan.svelte';

const fields = {
  title: { type: 'string', default: '' },
  quality_cents: { type: 'integer', default: 0 },
};
const channels = [
  {
    channel: 'prolific',
    currency: 'GBP',
    settings: { properties: { ...fields, minutes_estimated: { type: 'integer', default: 15 } } },
  },
  {
    channel: 'mturk',
    currency: 'USD',
    settings: { properties: { ...fields, keywords: { type: 'string', default: 'images' } } },
  },
] as unknown as ChannelOptions[];
const options = { channels, places: 0, minutes: 7, reward_cents: 100 } as RecruitingOptions;
const accounts = [
  { id: 'new', channel: 'prolific', checked: null },
  { id: 'works', channel: 'mturk', checked: { problems: [] } },
] as unknown as ChannelAccount[];

describe('a plan', () => {
  it('begins with an account that works, at least one place, and every setting as it is', () => {
    const plan = new Plan(accounts, options, null);
    expect([plan.accountId, plan.places, plan.currency]).toEqual(['works', 1, 'USD']);
    expect(plan.settings).toEqual({ title: '', quality_cents: 0, keywords: 'images' });
  });

  it('takes what was decided to another platform, and leaves behind what is unknown there', () => {
    const plan = new Plan(accounts, options, null);
    plan.settings = { ...plan.settings, quality_cents: 50, keywords: 'cats' };
    plan.choose('new');
    expect(plan.settings).toEqual({ title: '', quality_cents: 50, minutes_estimated: 7 });
    expect(plan.currency).toBe('GBP');
  });

  it('has the limit of what it costs until somebody sets one', () => {
    const plan = new Plan(accounts, options, null);
    plan.estimate = { total_cents: 500 } as never;
    expect(plan.limit).toBe(500);
    plan.ownLimit = 300;
    plan.estimate = { total_cents: 900 } as never;
    expect(plan.limit).toBe(300);
  });

  it('goes on where its draft was left', () => {
    const draft = {
      channel_account_id: 'new',
      name: 'Pilot',
      account_name: 'Lab',
      places: 4,
      reward_cents: 90,
      settings: { title: 'Sort' },
      money: { limit_cents: 700 },
    } as unknown as Recruitment;
    const plan = new Plan(accounts, options, draft);
    expect(plan.body).toMatchObject({ name: 'Pilot', places: 4, spend_limit_cents: 700 });
    expect(plan.priced).toMatchObject({ channel: 'prolific', settings: { title: 'Sort' } });
  });
});
