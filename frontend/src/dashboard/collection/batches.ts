/** Splitting an upload into requests of bounded size. */

export interface Sized {
  name: string;
  size: number;
}

export const MAX_FILES = 20;
export const MAX_BYTES = 16 * 2 ** 20;

/**
 * Take the next request's files out of `ready`, at least one. No two have one name, since the reply
 * tells what became of each by name.
 */
export function takeBatch<File extends Sized>(ready: File[]): File[] {
  const batch: File[] = [];
  const names = new Set<string>();
  let bytes = 0;
  for (let at = 0; at < ready.length && batch.length < MAX_FILES;) {
    const file = ready[at]!;
    if (batch.length > 0 && bytes + file.size > MAX_BYTES) break;
    if (names.has(file.name)) {
      at += 1;
      continue;
    }
    batch.push(file);
    names.add(file.name);
    bytes += file.size;
    ready.splice(at, 1);
  }
  return batch;
}
