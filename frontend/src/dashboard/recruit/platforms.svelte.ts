/** What the server says of the platforms on which people are recruited. */
import type { ChannelOptions } from '../../api/types';

type Platform = Pick<
  ChannelOptions,
  'channel' | 'title' | 'posting' | 'posting_note' | 'one_posting' | 'many_postings' | 'compensates'
>;

let known = $state.raw<Readonly<Record<string, Platform>>>({});

export function learnPlatforms(channels: readonly Platform[]): void {
  known = Object.fromEntries(channels.map((channel) => [channel.channel, channel]));
}

export function platformOf(channel: string): string {
  return known[channel]?.title ?? channel;
}

/** "1 study", "2 tasks (HITs)": what stands on a platform. */
export function postingsOf(channel: string, n: number): string {
  const platform = known[channel];
  if (n === 1) return platform?.one_posting ?? '1 posting';
  return (platform?.many_postings ?? '{n} postings').replace('{n}', String(n));
}

/** "Study": one of them, before its number. */
export function postingNoun(channel: string): string {
  const noun = known[channel]?.posting ?? 'posting';
  return noun.charAt(0).toUpperCase() + noun.slice(1);
}

export function postingNote(channel: string): string {
  return known[channel]?.posting_note ?? '';
}

/** Whether who has no submission there is paid by a posting that only they see. */
export function compensates(channel: string): boolean {
  return known[channel]?.compensates ?? false;
}
