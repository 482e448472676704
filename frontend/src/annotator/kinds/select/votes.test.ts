import { expect, it } from 'vitest';
import * as g from '../../grouping';
import { countVotes, votesOf } from './votes';

const images = [17, 4, 99, 8];
const start = g.emptyGrouping(images, 3);
const none = new Set<number>();

it('what was not touched counts as no', () => {
  expect(votesOf(start, none)).toEqual([1, 1, 1, 1]);
  expect(countVotes(start, none)).toEqual([0, 4, 0]);
  const some = g.assign(g.assign(g.assign(start, [4], 0), [8], 2), [99], 1);
  expect(votesOf(some, none)).toEqual([1, 0, 1, 2]);
  expect(countVotes(some, none)).toEqual([1, 2, 1]);
});

it('nobody votes on what cannot be seen', () => {
  const some = g.assign(start, [17, 4], 0);
  expect(votesOf(some, new Set([4, 8]))).toEqual([0, -1, 1, -1]);
  expect(countVotes(some, new Set([4, 8]))).toEqual([1, 1, 0]);
});
