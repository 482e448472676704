/** What several windows of one annotator tell each other, so that all show the same. */
import type { Draft } from './grouping';

export type Told =
  | { type: 'draft'; lease: string; draft: Draft }
  | { type: 'saved'; lease: string; version: number; base: Draft }
  | { type: 'finished'; lease: string };

export interface Windows {
  tell(told: Told): void;
  close(): void;
}

export function otherWindows(place: string, onTold: (told: Told) => void): Windows {
  let channel: BroadcastChannel;
  try {
    channel = new BroadcastChannel(`likewise:${place}`);
  } catch {
    // An old browser, or one that keeps nothing here: each window is alone.
    return { tell: () => {}, close: () => {} };
  }
  channel.onmessage = (event: MessageEvent<Told>) => onTold(event.data);
  return { tell: (told) => channel.postMessage(told), close: () => channel.close() };
}
