/**
 * What this browser remembers, in IndexedDB. A write there takes a moment, in which the page may be
 * closed: until it is done, a copy lies in the journal, which is written at once. Inside frames and
 * private windows storage may be refused, and in some browsers it never answers: then it lasts as
 * long as the page, the journal as long as the browser allows, and drafts are on the server.
 */
import { createStore, del, get, set, type UseStore } from 'idb-keyval';
import { note, noted, unnote } from './notes';

/** Milliseconds after which storage counts as hanging. Slow phones take less than half of it. */
const LIMIT = 2000;
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

/** Fails where storage does not answer: a request may neither succeed nor fail, for good. */
function withinLimit<T>(request: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('storage hangs')), LIMIT);
    void request.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/**
 * Uses the store. Once it has failed or hung it is not asked again on this page: what was written
 * lies in memory and in the journal, which the next visit reads first.
 */
async function use<T>(request: (kept: UseStore) => Promise<T>): Promise<T | null> {
  const kept = opened();
  if (kept === null) return null;
  try {
    return await withinLimit(request(kept));
  } catch {
    store = null;
    return null;
  }
}

export async function recall<T>(key: string): Promise<T | null> {
  if (memory.has(key)) return memory.get(key) as T;
  const unwritten = noted<T>(journal(key));
  if (unwritten !== null) return unwritten;
  return (await use((kept) => get<T>(key, kept))) ?? null;
}

export async function remember(key: string, value: unknown): Promise<void> {
  // The page's own copy is ahead of what is still being written.
  memory.set(key, value);
  note(journal(key), value);
  await use(async (kept) => {
    await set(key, value, kept);
    // Done after all, but too late: nobody reads the store any more.
    if (store === null || memory.get(key) !== value) return;
    memory.delete(key);
    unnote(journal(key));
  });
}

export async function forget(key: string): Promise<void> {
  memory.delete(key);
  unnote(journal(key));
  await use((kept) => del(key, kept));
}
