/**
 * What an annotator has made of one grid so far. Immutable: every change returns a new Grouping, or
 * the same one where nothing changed.
 */

/** Group number of an image that is in no group. */
export const LEFT = -1;

export interface Grouping {
  /** The grid's images, as the lease names them. */
  readonly images: readonly number[];
  /** `groups[k]` is the group of `images[k]`; LEFT where it is in none. */
  readonly groups: readonly number[];
  /** One text for each possible group. */
  readonly descriptions: readonly string[];
  /** Earlier and undone values of `groups`; the nearest one is last. */
  readonly past: readonly (readonly number[])[];
  readonly future: readonly (readonly number[])[];
}

export interface Draft {
  readonly groups: readonly number[];
  readonly descriptions: readonly string[];
}

export function emptyGrouping(images: readonly number[], maxGroups: number): Grouping {
  return {
    images,
    groups: images.map(() => LEFT),
    descriptions: Array.from({ length: maxGroups }, () => ''),
    past: [],
    future: [],
  };
}

/** Goes on from a draft. A draft that does not fit the grid is ignored. */
export function fromDraft(
  images: readonly number[],
  maxGroups: number,
  draft: Draft | null,
): Grouping {
  const empty = emptyGrouping(images, maxGroups);
  const fits =
    draft !== null &&
    draft.groups.length === images.length &&
    draft.groups.every((group) => Number.isInteger(group) && group >= LEFT && group < maxGroups);
  if (!fits) return empty;
  const descriptions = empty.descriptions.map((_, group) => draft.descriptions[group] ?? '');
  return { ...empty, groups: [...draft.groups], descriptions };
}

export function groupOf(grouping: Grouping, image: number): number {
  return grouping.groups[grouping.images.indexOf(image)] ?? LEFT;
}

export function imagesOf(grouping: Grouping, group: number): number[] {
  return grouping.images.filter((_, k) => grouping.groups[k] === group);
}

/** Groups that hold at least one image, in order. */
export function usedGroups(grouping: Grouping): number[] {
  return grouping.descriptions.map((_, group) => group).filter((g) => grouping.groups.includes(g));
}

export function countLeft(grouping: Grouping): number {
  return grouping.groups.filter((group) => group === LEFT).length;
}

export function assign(grouping: Grouping, image: number, group: number): Grouping {
  const at = grouping.images.indexOf(image);
  const known = group >= LEFT && group < grouping.descriptions.length;
  if (at < 0 || !known || grouping.groups[at] === group) return grouping;
  return changed(grouping, grouping.groups.with(at, group));
}

export function unassign(grouping: Grouping, image: number): Grouping {
  return assign(grouping, image, LEFT);
}

/** Takes every image out of its group, in one step that can be undone. */
export function clear(grouping: Grouping): Grouping {
  if (countLeft(grouping) === grouping.images.length) return grouping;
  return changed(
    grouping,
    grouping.images.map(() => LEFT),
  );
}

export function describe(grouping: Grouping, group: number, text: string): Grouping {
  if (!(group in grouping.descriptions) || grouping.descriptions[group] === text) return grouping;
  return { ...grouping, descriptions: grouping.descriptions.with(group, text) };
}

export function undo(grouping: Grouping): Grouping {
  const groups = grouping.past.at(-1);
  if (groups === undefined) return grouping;
  const future = [...grouping.future, grouping.groups];
  return { ...grouping, groups, past: grouping.past.slice(0, -1), future };
}

export function redo(grouping: Grouping): Grouping {
  const groups = grouping.future.at(-1);
  if (groups === undefined) return grouping;
  const past = [...grouping.past, grouping.groups];
  return { ...grouping, groups, past, future: grouping.future.slice(0, -1) };
}

export type Missing = { kind: 'images' } | { kind: 'description'; group: number };

/** What keeps the grouping from being submitted; empty when it is ready. */
export function missing(grouping: Grouping, descriptionsRequired: boolean): Missing[] {
  const grouped = grouping.images.length - countLeft(grouping);
  if (grouped < 2) return [{ kind: 'images' }];
  if (!descriptionsRequired) return [];
  return usedGroups(grouping)
    .filter((group) => grouping.descriptions[group]?.trim() === '')
    .map((group) => ({ kind: 'description', group }));
}

/** Images, groups and descriptions as the API takes them; unused groups have no description. */
export function toAnswer(grouping: Grouping): {
  images: number[];
  groups: number[];
  descriptions: string[];
} {
  const used = usedGroups(grouping);
  const descriptions = grouping.descriptions
    .slice(0, (used.at(-1) ?? -1) + 1)
    .map((text, group) => (used.includes(group) ? text.trim() : ''));
  return { images: [...grouping.images], groups: [...grouping.groups], descriptions };
}

function changed(grouping: Grouping, groups: readonly number[]): Grouping {
  return { ...grouping, groups, past: [...grouping.past, grouping.groups], future: [] };
}
