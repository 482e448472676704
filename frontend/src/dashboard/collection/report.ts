/** What became of the files, to be shown in parts and taken away as a table. */
import type { Item, ItemState } from './items';

export type Shown = 'all' | 'rejected' | 'known' | 'added' | 'used' | 'waiting';

export const SHOWN: readonly (readonly [Shown, string])[] = [
  ['all', 'All'],
  ['rejected', 'Rejected'],
  ['known', 'Already there'],
  ['added', 'Added'],
  ['used', 'Tables'],
  ['waiting', 'Not sent'],
];

const WORDS: Record<ItemState, string> = {
  waiting: 'waiting',
  sending: 'being sent',
  added: 'added',
  known: 'already there',
  used: 'table used',
  rejected: 'rejected',
  cancelled: 'not sent',
};

export function wordOf(state: ItemState): string {
  return WORDS[state];
}

export function belongsTo(state: ItemState, shown: Shown): boolean {
  if (shown === 'all') return true;
  if (shown === 'waiting') return ['waiting', 'sending', 'cancelled'].includes(state);
  return state === shown;
}

/** The report as CSV; no cell is a formula. */
export function asCsv(items: readonly Item[]): string {
  const lines = items.map((item) => [item.path, wordOf(item.state), item.note]);
  return [['file', 'outcome', 'reason'], ...lines]
    .map((cells) => cells.map(cellOf).join(','))
    .join('\r\n');
}

function cellOf(text: string): string {
  const safe = /^[=+\-@\t\r\n\0]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
