/**
 * What this browser remembers, in IndexedDB. A write there takes a moment, in which the page may be
 * closed: until it is done, a copy lies in the journal, which is written at once. Inside frames and
 * private windows storage may be refused: then it lasts as long as the page.
 */
import { createStore, del, get, set, type UseStore } from 'idb-keyval';
import { note, noted, unnote } from './notes';

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

const journal = (key: string): string => `journal:${key}`;

export async function recall<T>(key: string): Promise<T | null> {
  if (memory.has(key)) return memory.get(key) as T;
  const unwritten = noted<T>(journal(key));
  if (unwritten !== null) return unwritten;
  const kept = opened();
  if (kept === null) return null;
  try {
    return (await get<T>(key, kept)) ?? null;
  } catch {
    store = null;
    return null;
  }
}

export async function remember(key: string, value: unknown): Promise<void> {
  // The page's own copy is ahead of what is still being written.
  memory.set(key, value);
  note(journal(key), value);
  const kept = opened();
  if (kept === null) return;
  try {
    await set(key, value, kept);
    if (memory.get(key) !== value) return;
    memory.delete(key);
    unnote(journal(key));
  } catch {
    store = null;
  }
}

export async function forget(key: string): Promise<void> {
  memory.delete(key);
  unnote(journal(key));
  const kept = opened();
  if (kept === null) return;
  try {
    await del(key, kept);
  } catch {
    store = null;
  }
}
