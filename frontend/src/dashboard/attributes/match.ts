/** Which column of the collection's table a learned attribute looks like. */
import type { KnownColumns } from '../../api/types';
import { matchText, scoreText } from '../compare/known';

type Cell = NonNullable<KnownColumns['attributes'][number]['cells'][number]>;

/** The column that agrees most with an attribute. */
export interface Match {
  column: string;
  cell: Cell;
  /** They agree well enough to call the attribute by the column's name. */
  close: boolean;
}

/** Half of the information, or a correlation of a half. */
const CLOSE = 0.5;

/** By the number of the attribute; without those that no column can be compared with. */
export function matchesOf({ columns, attributes }: KnownColumns): Map<number, Match> {
  const matches = new Map<number, Match>();
  for (const { attribute, cells } of attributes) {
    if (attribute === null) continue;
    for (const [k, cell] of cells.entries()) {
      const best = matches.get(attribute);
      if (!cell || (best && best.cell.score >= cell.score)) continue;
      matches.set(attribute, { column: columns[k]!.name, cell, close: cell.score >= CLOSE });
    }
  }
  return matches;
}

/** "This looks like your column “eyes”: AMI 0.82, 97 % matched (chance 50 %)." */
export function matchSentence({ column, cell, close }: Match): string {
  const figures = [scoreText(cell), matchText(cell)].filter(Boolean).join(', ');
  if (close) return `This looks like your column “${column}”: ${figures}.`;
  return `This looks like no column of your table. The closest is “${column}”: ${figures}.`;
}
