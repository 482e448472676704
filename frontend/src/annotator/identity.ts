/** Who the annotator is to the server: a random key, which may be taken to another device. */
import { note, noted } from './notes';

const KEY = 'annotator-key';
const isKey = (key: unknown): key is string =>
  typeof key === 'string' && key.length >= 16 && key.length <= 128;

/** The key by which the server knows this annotator again; `#k=…` brings one along. */
export function annotatorKey(): string {
  const brought = new URLSearchParams(location.hash.slice(1)).get('k');
  const known = isKey(brought) ? brought : noted<string>(KEY);
  const key = isKey(known) ? known : randomId();
  if (brought !== null) history.replaceState(null, '', location.pathname + location.search);
  if (key !== noted(KEY)) note(KEY, key);
  return key;
}

/** The address by which the same annotator goes on with another device. */
export function addressElsewhere(): string {
  return `${location.origin}${location.pathname}#k=${annotatorKey()}`;
}

export interface Finished {
  code: string;
  answered: number;
  stopped: boolean;
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
