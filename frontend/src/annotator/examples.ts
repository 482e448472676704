/** Pictures of a task that is done, drawn for the instructions. */
import type { IconName } from './icons';
import type { Key } from './texts';

export type Shape = 'circle' | 'square' | 'other';

export interface Example {
  /** Read instead of the picture, and shown below it. */
  readonly label: Key;
  readonly text: Key;
  /** The images; without it, eight that are the same everywhere. */
  readonly shapes?: readonly (readonly [Shape, string])[];
  readonly groupOf: Readonly<Record<Shape, number>>;
  /** How the images look that are neither circles nor squares. */
  readonly other: 'star' | 'half';
  readonly inBins?: boolean;
  /** How groups look; without it, they have numbers. */
  readonly looks?: readonly { icon: IconName; colour: string }[];
  readonly legend?: readonly { group: number; name: Key }[];
}

export const SHAPES: readonly (readonly [Shape, string])[] = [
  ['square', '#d9822b'],
  ['circle', '#3a7bd5'],
  ['circle', '#d9822b'],
  ['square', '#4f9d69'],
  ['other', '#b05cc7'],
  ['square', '#3a7bd5'],
  ['circle', '#4f9d69'],
  ['square', '#b05cc7'],
];

export const ROUND_OR_CORNERS = {
  label: 'example_label',
  groupOf: { circle: 0, square: 1, other: -1 },
  other: 'star',
} as const satisfies Partial<Example>;
