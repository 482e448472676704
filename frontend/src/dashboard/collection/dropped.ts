/** Files of a drop, a picker or the clipboard, as items; folders walked, archives opened. */
import { isArchive, isNoise, itemOf, type Item } from './items';

export interface Found {
  items: Item[];
  /** Name of the only folder or archive, to call a new collection by. */
  title: string;
}

export async function foundIn(transfer: DataTransfer): Promise<Found> {
  // Entries must be asked for before anything is awaited: the drop's data are gone afterwards.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.() ?? null);
  const files = [...transfer.files];
  if (entries.length === 0 || entries.includes(null)) return foundAmong(files);
  const found: [string, File][] = [];
  for (const entry of entries) if (entry) await walk(entry, found);
  const only = entries.length === 1 ? entries[0] : null;
  return { items: await itemsOf(found), title: only ? titleOf(only.name, only.isDirectory) : '' };
}

export async function foundAmong(files: File[]): Promise<Found> {
  const found = files.map((file): [string, File] => [file.webkitRelativePath || file.name, file]);
  const tops = new Set(found.map(([path]) => path.split('/')[0]));
  const isFolder = found[0]?.[0].includes('/') ?? false;
  const title = tops.size === 1 ? titleOf([...tops][0] ?? '', isFolder) : '';
  return { items: await itemsOf(found), title };
}

function titleOf(name: string, isFolder: boolean): string {
  if (isFolder) return name;
  return isArchive(name) ? name.slice(0, -4) : '';
}

async function walk(entry: FileSystemEntry, found: [string, File][]): Promise<void> {
  const path = entry.fullPath.replace(/^\//, '');
  if (isNoise(entry.name)) return;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) =>
      (entry as FileSystemFileEntry).file(resolve, reject),
    );
    found.push([path, file]);
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  // A reader hands out a folder in parts, an empty one at the end.
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (part.length === 0) return;
    for (const inner of part) await walk(inner, found);
  }
}

async function itemsOf(files: [string, File][]): Promise<Item[]> {
  const items: Item[] = [];
  // Folders are handed out in any order; 10.png comes behind 9.png.
  const order = new Intl.Collator('en', { numeric: true });
  files.sort(([one], [other]) => order.compare(one, other));
  for (const [path, file] of files) {
    if (isNoise(path)) continue;
    if (isArchive(file.name) && 'DecompressionStream' in window) {
      const { membersOf } = await import('./archive');
      for (const member of await membersOf(file)) items.push(member);
    } else {
      items.push(itemOf(path, file.size, () => Promise.resolve(file)));
    }
  }
  return items;
}
