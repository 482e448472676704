import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LiveCampaign } from './campaign.svelte';

class Stream extends EventTarget {
  static readonly CLOSED = 2;
  readyState = 1;

  constructor(readonly address: string) {
    super();
    streams.push(this);
  }

  close(): void {
    this.readyState = Stream.CLOSED;
  }

  tell(event: string, data = ''): void {
    this.dispatchEvent(new MessageEvent(event, { data }));
  }

  fail(state: number): void {
    this.readyState = state;
    this.dispatchEvent(new Event('error'));
  }
}

let streams: Stream[] = [];

beforeEach(() => {
  streams = [];
  vi.useFakeTimers();
  vi.stubGlobal('EventSource', Stream);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const open = (): Stream[] => streams.filter((one) => one.readyState !== Stream.CLOSED);

test('progress is shown as it comes, and other changes are counted', () => {
  const campaign = new LiveCampaign('c1');
  expect(streams[0]?.address).toBe('/api/v1/campaigns/c1/events');
  streams[0]?.tell('progress', JSON.stringify({ n_answers: 7 }));
  streams[0]?.tell('changed');
  expect(campaign.progress).toEqual({ n_answers: 7 });
  expect(campaign.changes).toBe(1);
});

test('when the server asks for it, the page connects again at once, by one stream', () => {
  const campaign = new LiveCampaign('c1');
  streams[0]?.tell('progress', '{}');
  streams[0]?.tell('again');
  expect(streams).toHaveLength(2);
  expect(open()).toEqual([streams[1]]);
  expect(campaign.connected).toBe(true);
});

test('a connection that the browser makes again itself is left to it', () => {
  const campaign = new LiveCampaign('c1');
  streams[0]?.fail(0);
  expect(campaign.connected).toBe(false);
  vi.advanceTimersByTime(60_000);
  expect(streams).toHaveLength(1);
  streams[0]?.tell('progress', '{}');
  expect(campaign.connected).toBe(true);
});

test('after a refusal the page waits, longer each time, and says that it may be behind', () => {
  const campaign = new LiveCampaign('c1');
  streams[0]?.fail(Stream.CLOSED);
  expect(campaign.connected).toBe(false);
  vi.advanceTimersByTime(400);
  expect(streams).toHaveLength(1);
  vi.advanceTimersByTime(600);
  expect(streams).toHaveLength(2);
  streams[1]?.fail(Stream.CLOSED);
  vi.advanceTimersByTime(900);
  expect(streams).toHaveLength(2);
  vi.advanceTimersByTime(1_100);
  expect(streams).toHaveLength(3);
});
