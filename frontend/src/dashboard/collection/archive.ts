/**
 * ZIP files, opened here: their members are uploaded one by one, so an archive may be of any size
 * and goes on where it stopped (docs/decisions/0015).
 */
import {
  configure,
  BlobReader,
  BlobWriter,
  ZipReader,
} from '@zip.js/zip.js/lib/zip-core-native.js';
import type { FileEntry } from '@zip.js/zip.js';
import { isNoise, itemOf, type Item } from './items';

// The browser's own inflate; no worker or WebAssembly, which the page's policy does not allow.
configure({ useWebWorkers: false, useCompressionStream: true });

/** Members of an archive; those that cannot be used are rejected already. */
export async function membersOf(file: File): Promise<Item[]> {
  const reader = new ZipReader(new BlobReader(file));
  try {
    const entries = await reader.getEntries();
    const files = entries.filter(
      (entry): entry is FileEntry => !entry.directory && !isNoise(entry.filename),
    );
    if (files.length === 0) return [broken(file, 'The ZIP file contains no files.')];
    return files.map((entry) => memberOf(file, entry));
  } catch (error) {
    return [broken(file, `The ZIP file cannot be read (${reasonOf(error)}).`)];
  }
}

function memberOf(file: File, entry: FileEntry): Item {
  const item = itemOf(`${file.name}/${entry.filename}`, entry.uncompressedSize, () =>
    entry.getData(new BlobWriter()),
  );
  if (entry.encrypted) {
    item.state = 'rejected';
    item.note = 'The entry is encrypted.';
  }
  return item;
}

function broken(file: File, reason: string): Item {
  const item = itemOf(file.name, file.size, () => Promise.resolve(file));
  item.state = 'rejected';
  item.note = reason;
  return item;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
