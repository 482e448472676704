/** An answer on its way: kept until the server has acknowledged it, over reloads and crashes. */
import type { AnswerIn } from '../api/types';
import { forget, recall, remember } from './storage';

export interface Outgoing {
  readonly lease: string;
  /** The same for every attempt, so that the server stores the answer once. */
  readonly key: string;
  readonly body: AnswerIn;
}

const outboxKey = (link: string) => `outbox:${link}`;

export function keepOutgoing(link: string, outgoing: Outgoing): Promise<void> {
  return remember(outboxKey(link), outgoing);
}

export function outgoing(link: string): Promise<Outgoing | null> {
  return recall<Outgoing>(outboxKey(link));
}

export function dropOutgoing(link: string): Promise<void> {
  return forget(outboxKey(link));
}
