/** Splitting an upload into requests of bounded size. */

export interface Sized {
  name: string;
  size: number;
}

export const MAX_FILES = 20;
export const MAX_BYTES = 16 * 2 ** 20;

/** Images in batches, a ZIP alone in one, tables last so that their images are there. */
export function batchesOf<File extends Sized>(files: readonly File[]): File[][] {
  const batches: File[][] = [];
  let current: File[] = [];
  let bytes = 0;
  const close = () => {
    if (current.length > 0) batches.push(current);
    current = [];
    bytes = 0;
  };
  for (const file of files.filter((one) => !isTable(one))) {
    const alone = file.name.toLowerCase().endsWith('.zip');
    if (alone || current.length >= MAX_FILES || bytes + file.size > MAX_BYTES) close();
    current.push(file);
    bytes += file.size;
    if (alone) close();
  }
  close();
  const tables = files.filter(isTable);
  if (tables.length > 0) batches.push(tables);
  return batches;
}

function isTable(file: Sized): boolean {
  return file.name.toLowerCase().endsWith('.csv');
}
