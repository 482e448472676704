import { expect, it } from 'vitest';
import type { KnownColumns } from '../../api/types';
import { matchesOf, matchSentence } from './match';

const column = (name: string) => ({ name, kind: 'categories' as const, n_images: 9, n_values: 2 });
const row = (attribute: number | null, ...scores: (number | null)[]) => ({
  attribute,
  overall: false,
  name: '',
  low: [],
  high: [],
  clusters: [],
  cells: scores.map((score) =>
    score === null ? null : { score, balanced_accuracy: 0.97, chance: 0.5 },
  ),
});

it('an attribute looks like the column that it agrees with most, if it agrees at all', () => {
  const known: KnownColumns = {
    version: 1,
    n_images: 9,
    names: ['eyes', 'id', 'size'],
    columns: [column('eyes'), { ...column('id'), kind: null }, column('size')],
    attributes: [row(0, 0.1, null, 0.82), row(3, 0.31, null, 0.3), row(null, 0.9, null, 0.9)],
  };
  const matches = matchesOf(known);
  expect([...matches.keys()]).toEqual([0, 3]);
  expect(matchSentence(matches.get(0)!)).toBe(
    'This looks like your column “size”: AMI 0.82, 97 % matched (chance 50 %).',
  );
  expect(matches.get(3)).toMatchObject({ column: 'eyes', close: false });
  expect(matchSentence(matches.get(3)!)).toContain('no column of your table');
});

it('without columns there is nothing to say', () => {
  const known = { version: 1, n_images: 0, names: [], columns: [], attributes: [] };
  expect(matchesOf(known).size).toBe(0);
});
