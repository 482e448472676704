/**
 * Votes, the groups of the kind `select` (learning/ballots.py): what an image in no group counts as,
 * and how votes look.
 */
import { type Grouping, LEFT } from '../../grouping';
import type { Key } from '../../texts';

export const YES = 0;
export const NO = 1;

/** In the order of their numbers; told apart by symbol, name, colour and pattern. */
export const VOTES = [
  { name: 'vote_yes', icon: 'check', colour: 'yes' },
  { name: 'vote_no', icon: 'clear', colour: 'no' },
  { name: 'vote_unsure', icon: 'help', colour: 'unsure' },
] as const satisfies readonly { name: Key; icon: string; colour: string }[];

/** The vote on each image, as submitted: no where nothing was said, none where it is broken. */
export function votesOf(grouping: Grouping, broken: ReadonlySet<number>): number[] {
  return grouping.groups.map((group, k) => {
    if (broken.has(grouping.images[k]!)) return LEFT;
    return group === LEFT ? NO : group;
  });
}

/** How many images there are of each vote, as submitted. */
export function countVotes(grouping: Grouping, broken: ReadonlySet<number>): number[] {
  const votes = votesOf(grouping, broken);
  return VOTES.map((_, vote) => votes.filter((one) => one === vote).length);
}
