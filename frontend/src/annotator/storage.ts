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
  if (kept === null) return;
  try {
    await del(key, kept);
  } catch {
    store = null;
  }
}
