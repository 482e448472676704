/** Messages between several windows of one annotator, so that all show the same. */
import type { Draft } from './grouping';

export type Message =
  | { type: 'draft'; lease: string; draft: Draft }
  | { type: 'saved'; lease: string; version: number; base: Draft }
  | { type: 'finished'; lease: string };

export interface Windows {
  tell(message: Message): void;
  close(): void;
}

export function otherWindows(place: string, onMessage: (message: Message) => void): Windows {
  let channel: BroadcastChannel;
  try {
    channel = new BroadcastChannel(`likewise:${place}`);
  } catch {
    // An old browser, or one that keeps nothing here: each window is alone.
    return { tell: () => {}, close: () => {} };
  }
  channel.onmessage = (event: MessageEvent<Message>) => onMessage(event.data);
  return { tell: (message) => channel.postMessage(message), close: () => channel.close() };
}
