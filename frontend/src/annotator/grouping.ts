/**
 * What an annotator has made of one grid so far. Immutable: every change returns a new Grouping, or
 * the same one where nothing changed.
 */

/** Group number of an image that is in no group. */
export const LEFT = -1;

/** Words that a group took over in one step, with the groups around it: they go when it is undone. */
export interface Lent {
  readonly before: readonly number[];
  readonly after: readonly number[];
  readonly group: number;
  readonly text: string;
}

export interface Grouping {
  /** The grid's images, as the lease names them. */
  readonly images: readonly number[];
  /** `groups[k]` is the group of `images[k]`; LEFT where it is in none. */
  readonly groups: readonly number[];
  /** Group numbers are below this one. */
  readonly limit: number;
  /** One text for each group that can have one. */
  readonly descriptions: readonly string[];
  /** Earlier and undone values of `groups`; the nearest one is last. */
  readonly past: readonly (readonly number[])[];
  readonly future: readonly (readonly number[])[];
  readonly lent: readonly Lent[];
}

export interface Draft {
  readonly groups: readonly number[];
  readonly descriptions: readonly string[];
  /** Steps to undo and redo; drafts from the server have none. */
  readonly past?: readonly (readonly number[])[];
  readonly future?: readonly (readonly number[])[];
  readonly lent?: readonly Lent[];
}

export function emptyGrouping(
  images: readonly number[],
  maxGroups: number,
  limit = maxGroups,
): Grouping {
  return {
    images,
    groups: images.map(() => LEFT),
    limit,
    descriptions: Array.from({ length: maxGroups }, () => ''),
    past: [],
    future: [],
    lent: [],
  };
}

/** Goes on from a draft. A draft that does not fit the grid is ignored. */
export function fromDraft(
  images: readonly number[],
  maxGroups: number,
  draft: Draft | null,
  limit = maxGroups,
): Grouping {
  const empty = emptyGrouping(images, maxGroups, limit);
  const fits = (groups: readonly number[]): boolean =>
    groups.length === images.length &&
    groups.every((group) => Number.isInteger(group) && group >= LEFT && group < limit);
  if (draft === null || !fits(draft.groups)) return empty;
  const descriptions = empty.descriptions.map((_, group) => draft.descriptions[group] ?? '');
  const past = draft.past?.filter(fits) ?? [];
  const future = draft.future?.filter(fits) ?? [];
  return {
    ...empty,
    groups: [...draft.groups],
    descriptions,
    past,
    future,
    lent: draft.lent ?? [],
  };
}

export function groupOf(grouping: Grouping, image: number): number {
  return grouping.groups[grouping.images.indexOf(image)] ?? LEFT;
}

export function imagesOf(grouping: Grouping, group: number): number[] {
  return grouping.images.filter((_, k) => grouping.groups[k] === group);
}

/** Groups that hold at least one image, in order. */
export function usedGroups(grouping: Grouping): number[] {
  const used = new Set(grouping.groups.filter((group) => group !== LEFT));
  return [...used].sort((a, b) => a - b);
}

export function countLeft(grouping: Grouping): number {
  return grouping.groups.filter((group) => group === LEFT).length;
}

/** Puts images in a group, or takes them out (LEFT), in one step that can be undone. */
export function assign(grouping: Grouping, images: readonly number[], group: number): Grouping {
  if (group < LEFT || group >= grouping.limit) return grouping;
  const chosen = new Set(images);
  return withGroups(
    grouping,
    grouping.groups.map((old, k) => (chosen.has(grouping.images[k]!) ? group : old)),
  );
}

/** Other groups for the images, in one step that can be undone. */
export function withGroups(grouping: Grouping, groups: readonly number[]): Grouping {
  return groups.every((now, k) => now === grouping.groups[k])
    ? grouping
    : changed(grouping, groups);
}

/** Takes every image out of its group. */
export function clear(grouping: Grouping): Grouping {
  return assign(grouping, grouping.images, LEFT);
}

export function describe(grouping: Grouping, group: number, text: string): Grouping {
  if (!(group in grouping.descriptions) || grouping.descriptions[group] === text) return grouping;
  return { ...grouping, descriptions: grouping.descriptions.with(group, text) };
}

export function undo(grouping: Grouping): Grouping {
  const groups = grouping.past.at(-1);
  if (groups === undefined) return grouping;
  const future = [...grouping.future, grouping.groups];
  const descriptions = withoutLent(grouping, groups);
  return { ...grouping, groups, descriptions, past: grouping.past.slice(0, -1), future };
}

export function redo(grouping: Grouping): Grouping {
  const groups = grouping.future.at(-1);
  if (groups === undefined) return grouping;
  const past = [...grouping.past, grouping.groups];
  const descriptions = withLent(grouping, groups);
  return { ...grouping, groups, descriptions, past, future: grouping.future.slice(0, -1) };
}

/** What another window or device made of the same grid, as a step that can be undone. */
export function replaced(grouping: Grouping, draft: Draft): Grouping {
  const { images, limit } = grouping;
  const next = fromDraft(images, grouping.descriptions.length, draft, limit);
  const same = next.groups.every((group, k) => group === grouping.groups[k]);
  if (same) return { ...grouping, descriptions: next.descriptions };
  return { ...changed(grouping, next.groups), descriptions: next.descriptions };
}

/**
 * Joins two drafts that went on from the same one: what only one of them changed is taken from it;
 * what both changed, from `mine`.
 */
export function merge(base: Draft, mine: Draft, theirs: Draft): Draft {
  const join = <Value>(
    all: readonly Value[],
    other: readonly Value[],
    start: readonly Value[],
  ): Value[] => all.map((value, k) => (value === start[k] && k in other ? other[k]! : value));
  return {
    groups: join(mine.groups, theirs.groups, base.groups),
    descriptions: join(mine.descriptions, theirs.descriptions, base.descriptions),
  };
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

const MOST_STEPS = 200;

/** Descriptions once the groups are back to these: what was written since stays. */
function withoutLent({ groups, descriptions, lent }: Grouping, next: readonly number[]) {
  const step = lent.findLast(({ before, after }) => same(before, next) && same(after, groups));
  return step && descriptions[step.group] === step.text
    ? descriptions.with(step.group, '')
    : descriptions;
}

function withLent({ groups, descriptions, lent }: Grouping, next: readonly number[]) {
  const step = lent.findLast(({ before, after }) => same(before, groups) && same(after, next));
  return step && !descriptions[step.group]?.trim()
    ? descriptions.with(step.group, step.text)
    : descriptions;
}

const same = (left: readonly number[], right: readonly number[]): boolean =>
  String(left) === String(right);

function changed(grouping: Grouping, groups: readonly number[]): Grouping {
  const past = [...grouping.past, grouping.groups].slice(-MOST_STEPS);
  return { ...grouping, groups, past, future: [] };
}
