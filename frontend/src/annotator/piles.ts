/** Groups as piles of images: split, merged, and summed up before they are sent. Pure. */
import { type Grouping, imagesOf, usedGroups } from './grouping';
import type { Selection } from './selection';

export interface Pile {
  readonly group: number;
  readonly images: readonly number[];
}

/** What an answer given now says: groups of images that can be seen. */
export function pilesOf(grouping: Grouping, unseen: Selection): Pile[] {
  return usedGroups(grouping)
    .map((group) => ({
      group,
      images: imagesOf(grouping, group).filter((image) => !unseen.has(image)),
    }))
    .filter(({ images }) => images.length > 0);
}

/** The empty group that a part of a pile becomes, preferably without words; null: all are in use. */
export function freeGroup({ groups, descriptions, limit }: Grouping): number | null {
  const free = Array.from({ length: limit }, (_, group) => group).filter(
    (group) => !groups.includes(group),
  );
  return free.find((group) => !descriptions[group]?.trim()) ?? free[0] ?? null;
}

/** After all images of `from` went into `into`, which takes over its words if it has none. */
export function lend(grouping: Grouping, from: number, into: number): Grouping {
  const { descriptions, groups: after } = grouping;
  const before = grouping.past.at(-1);
  const text = descriptions[from]?.trim();
  if (!before || !text || descriptions[into]?.trim()) return grouping;
  const lent = [...grouping.lent, { before, after, group: into, text }];
  return { ...grouping, lent, descriptions: descriptions.with(into, text) };
}
