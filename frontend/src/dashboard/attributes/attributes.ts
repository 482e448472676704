/** Order and groups of what is shown of attributes. */
import type { Attribute, Axis, Example } from '../../api/types';

/** The attribute that most answers are about first. */
export function byShare<A extends Pick<Attribute, 'share'>>(attributes: readonly A[]): A[] {
  return attributes.toSorted((a, b) => b.share - a.share);
}

export interface ExampleGroup {
  group: number;
  images: Example[];
}

/** The images of an example grid by the group that an answer would put them in. */
export function exampleGroups(example: readonly (Example & { group: number })[]): ExampleGroup[] {
  const groups = new Map<number, Example[]>();
  for (const image of example) {
    groups.set(image.group, [...(groups.get(image.group) ?? []), image]);
  }
  return [...groups]
    .map(([group, images]) => ({ group, images }))
    .toSorted((a, b) => a.group - b.group);
}

/** "owl, round", or "cluster 2" where nobody wrote anything. */
export function clusterTitle(words: readonly string[], index: number): string {
  return words.slice(0, 2).join(', ') || `cluster ${index + 1}`;
}

/** An axis of the embedding, with the requester's name of its attribute. */
export interface NamedAxis extends Axis {
  name?: string;
}
