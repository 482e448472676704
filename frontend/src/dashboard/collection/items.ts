/** What is to be uploaded: files, and the members of archives. */

export type ItemState =
  'waiting' | 'sending' | 'added' | 'known' | 'used' | 'rejected' | 'cancelled';

export interface Item {
  /** Path below what was dropped, for the reader's eyes. */
  readonly path: string;
  /** Name without folders, as the server stores it. */
  readonly name: string;
  readonly size: number;
  /** The bytes; of an archive's member they are unpacked at every call. */
  readonly read: () => Promise<Blob>;
  state: ItemState;
  /** Why it was rejected, or under which name the collection has it already. */
  note: string;
  /** Bytes that have been sent. */
  sent: number;
  hash: string;
  /** Its bytes may have reached the server in a request whose reply was lost. */
  tried: boolean;
}

export function itemOf(path: string, size: number, read: () => Promise<Blob>): Item {
  return {
    path,
    name: nameOf(path),
    size,
    read,
    state: 'waiting',
    note: '',
    sent: 0,
    hash: '',
    tried: false,
  };
}

/** As `name_of` on the server: replies name files so. */
function nameOf(path: string): string {
  const last = path.replaceAll('\\', '/').split('/').at(-1) ?? '';
  return last.slice(0, 500).replaceAll('\0', '') || 'unnamed';
}

export function isTable(item: { name: string }): boolean {
  return item.name.toLowerCase().endsWith('.csv');
}

export function isArchive(name: string): boolean {
  return name.toLowerCase().endsWith('.zip');
}

/** Files that systems strew into folders, and nobody means to upload. */
export function isNoise(path: string): boolean {
  return path
    .split('/')
    .some((part) => part.startsWith('.') || part === '__MACOSX' || part === 'Thumbs.db');
}
