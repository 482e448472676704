/** An answer on its way: kept until the server has acknowledged it, over reloads and crashes. */
import type { AnswerIn } from '../api/types';
import { forget, recall, remember } from './storage';

export interface Outgoing {
  readonly lease: string;
  /** The same for every attempt, so that the server stores the answer once. */
  readonly key: string;
  readonly body: AnswerIn;
}

const outboxKey = (place: string) => `outbox:${place}`;

export function keepOutgoing(place: string, outgoing: Outgoing): Promise<void> {
  return remember(outboxKey(place), outgoing);
}

export function outgoing(place: string): Promise<Outgoing | null> {
  return recall<Outgoing>(outboxKey(place));
}

export function dropOutgoing(place: string): Promise<void> {
  return forget(outboxKey(place));
}
