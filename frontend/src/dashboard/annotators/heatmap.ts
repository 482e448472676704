/** Order and shades of the preference heatmap. */
import type { AnnotatorInsight, Attribute } from '../../api/types';

/** By what they look at most; by the share of one attribute (its number); by answers given. */
export type Order = 'similar' | 'answers' | number;

/** What an ordinary grid would be grouped by, or what the given answers were. */
export type Measure = 'preference' | 'used';

type Row = Pick<AnnotatorInsight, 'annotator' | 'n_answers' | 'preference' | 'used'>;

/** Annotators in order, the largest first. Similar ones are next to each other: in blocks by the attribute
 * they look at most, blocks in the order of the attributes. */
export function ordered<R extends Row>(
  rows: readonly R[],
  attributes: readonly Pick<Attribute, 'index'>[],
  order: Order,
  measure: Measure = 'preference',
): R[] {
  if (order === 'answers') return rows.toSorted((a, b) => b.n_answers - a.n_answers);
  if (order !== 'similar')
    return rows.toSorted((a, b) => share(b, order, measure) - share(a, order, measure));
  const block = (row: R) => {
    const shares = attributes.map(({ index }) => share(row, index, measure));
    return shares.indexOf(Math.max(...shares));
  };
  const blocks = new Map(rows.map((row) => [row, block(row)]));
  return rows.toSorted((a, b) => {
    const [one, other] = [blocks.get(a) ?? 0, blocks.get(b) ?? 0];
    const index = attributes[one]?.index ?? 0;
    return one - other || share(b, index, measure) - share(a, index, measure);
  });
}

export function share(
  row: Pick<Row, Measure>,
  index: number,
  measure: Measure = 'preference',
): number {
  return row[measure][index] ?? 0;
}

/** Whether the model knows what answers used; earlier and published ones do not. */
export function knowsUsed(rows: readonly Pick<Row, 'used'>[]): boolean {
  return rows.some(({ used }) => used.some((share) => share !== null));
}

/** The largest share shown, rounded up to a tenth: the end of the scale. */
export function scaleEnd(
  rows: readonly Row[],
  attributes: readonly Pick<Attribute, 'index'>[],
  measure: Measure = 'preference',
): number {
  const shares = rows.flatMap((row) => attributes.map(({ index }) => share(row, index, measure)));
  return Math.max(0.1, Math.ceil(10 * Math.max(0, ...shares) - 1e-9) / 10);
}
