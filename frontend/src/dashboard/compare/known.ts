/** How attributes agree with known columns, in words. */
import type { KnownColumns } from '../../api/types';
import { attributeWords } from '../annotators/about';
import { percent } from '../insight';

type Row = KnownColumns['attributes'][number];
type Cell = NonNullable<Row['cells'][number]>;
type Column = KnownColumns['columns'][number];

export function rowName(row: Row): string {
  if (row.attribute === null) return 'all dimensions together';
  if (row.overall) return row.name || 'overall similarity';
  const words = attributeWords(row);
  return `attribute ${row.attribute}${words ? `: ${words}` : ''}`;
}

export function columnAbout({ kind, n_values, n_images }: Column): string {
  if (kind === null) return 'cannot be compared';
  return kind === 'numbers'
    ? `numbers, ${n_images} images`
    : `${n_values} values, ${n_images} images`;
}

/** "AMI 0.62", "r 0.85". */
export function scoreText(cell: Cell): string {
  const name = cell.balanced_accuracy === null ? 'r' : 'AMI';
  // Never "-0.00".
  return `${name} ${(Math.round(cell.score * 100) / 100 + 0).toFixed(2)}`;
}

/** "91 % matched (chance 17 %)"; empty for numbers. */
export function matchText({ balanced_accuracy, chance }: Cell): string {
  if (balanced_accuracy === null) return '';
  return `${percent(balanced_accuracy)} matched (chance ${percent(chance)})`;
}

/** Percentage of the cell's tint: 0 without agreement. */
export function tint(cell: Cell): number {
  return Math.round(Math.max(0, Math.min(1, cell.score)) * 45);
}
