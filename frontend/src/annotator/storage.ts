/**
 * What this browser remembers, in IndexedDB. Inside frames and private windows it may be refused:
 * then it lasts as long as the page.
 */
import { createStore, del, get, set, type UseStore } from 'idb-keyval';

const memory = new Map<string, unknown>();
let store: UseStore | null | undefined;

function opened(): UseStore | null {
  try {
    store ??= store === null ? null : createStore('likewise', 'annotator');
  } catch {
    store = null;
  }
  return store;
}

export async function recall<T>(key: string): Promise<T | null> {
  if (memory.has(key)) return memory.get(key) as T;
  const kept = opened();
  if (kept === null) return null;
  return ((await get<T>(key, kept).catch(() => undefined)) ?? null) as T | null;
}

export async function remember(key: string, value: unknown): Promise<void> {
  // The page's own copy is ahead of what is still being written.
  memory.set(key, value);
  const kept = opened();
  if (kept === null) return;
  try {
    await set(key, value, kept);
    if (memory.get(key) === value) memory.delete(key);
  } catch {
    store = null;
  }
}

export async function forget(key: string): Promise<void> {
  memory.delete(key);
  const kept = opened();
  if (kept !== null) await del(key, kept).catch(() => undefined);
}

const KEY = 'annotator-key';
const isKey = (key: unknown): key is string =>
  typeof key === 'string' && key.length >= 16 && key.length <= 128;

/** The random key by which the server knows this annotator again; `#k=…` brings it along. */
export async function annotatorKey(): Promise<string> {
  const brought = new URLSearchParams(location.hash.slice(1)).get('k');
  const known = isKey(brought) ? brought : await recall<string>(KEY);
  const key = isKey(known) ? known : randomId();
  if (brought !== null) history.replaceState(null, '', location.pathname + location.search);
  await remember(KEY, key);
  return key;
}

/** The address by which the same annotator goes on with another device. */
export async function addressElsewhere(): Promise<string> {
  return `${location.origin}${location.pathname}#k=${await annotatorKey()}`;
}

/** A random UUID, on pages without TLS too (`crypto.randomUUID` is refused there). */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
