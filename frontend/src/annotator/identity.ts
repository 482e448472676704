/** Who the annotator is to the server: a random key per link, which may be taken to another device. */
import type { CampaignForAnnotators, Handout } from '../api/types';
import type { Arrival } from './arrival';
import { note, noted, storageWorks, unnote } from './notes';

const keyOf = (link: string): string => `key:${link}`;
const isKey = (key: unknown): key is string =>
  typeof key === 'string' && key.length >= 16 && key.length <= 128;

/** The key in the address, `#k=…`, where it is another than this browser's. */
export function broughtKey(link: string): string | null {
  const brought = new URLSearchParams(location.hash.slice(1)).get('k');
  return isKey(brought) && brought !== noted(keyOf(link)) ? brought : null;
}

/** Whether somebody has worked on this link here who is not the one the address speaks of. */
export function isSomebodyElse(link: string): boolean {
  return broughtKey(link) !== null && noted(keyOf(link)) !== null;
}

/** Goes on as the annotator of the address, or not; what the other one noted here is forgotten. */
export function settleKey(link: string, takeBrought: boolean): void {
  const brought = broughtKey(link);
  if (takeBrought && brought !== null) {
    note(keyOf(link), brought);
    unnote(finishedKey(link));
  }
  if (location.hash) history.replaceState(null, '', location.pathname + location.search);
}

/** The key by which the server knows this annotator again. */
export function annotatorKey(link: string): string {
  if (!isSomebodyElse(link)) settleKey(link, true);
  const known = noted<string>(keyOf(link));
  const key = isKey(known) ? known : randomId();
  if (key !== known) note(keyOf(link), key);
  return key;
}

/** The address by which the same annotator goes on with another device. */
export function addressElsewhere({ place, isNamed }: Arrival): string {
  const address = location.origin + location.pathname + location.search;
  return isNamed ? address : `${address}#k=${annotatorKey(place)}`;
}

/** The language in which the annotator reads the requester's texts, where they are translated. */
export function reading(): string {
  return document.documentElement.dataset['reading'] ?? '';
}

/**
 * The same page with other words; behind a link it brings the key along where nothing can be kept.
 */
export function addressInLanguage(code: string, link: string | null): string {
  const url = new URL(location.href);
  url.searchParams.set('lang', code);
  url.hash = link === null || storageWorks() ? '' : `k=${annotatorKey(link)}`;
  return url.href;
}

/** What the last page shows, kept for a later visit. */
export interface Finished {
  readonly code: string;
  readonly answered: number;
  readonly target: number;
  readonly stopped: boolean;
  readonly campaign: CampaignForAnnotators | null;
  /** In hundredths of the campaign's currency, by the books. */
  readonly earned?: number | null;
  /** Whether another assignment could be had; not known of those kept by an older page. */
  readonly again?: boolean | null | undefined;
  /** Whether the link sends people back; where to stays with the tab (wayback.ts). */
  readonly returns?: boolean;
  /** All codes of this person, the newest first; not known of those kept by an older page. */
  readonly codes?: Handout['codes'] | undefined;
  /** Another assignment was begun since: it comes first. */
  readonly underway?: boolean;
}

/** Where the code of a finished assignment is noted. */
export const finishedKey = (link: string): string => `done:${link}`;

/** A random UUID, on pages without TLS too (`crypto.randomUUID` is refused there). */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
