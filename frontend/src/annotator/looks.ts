/** How groups look on images and buttons. */
import type { IconName } from './icons';

/** What distinguishes a group besides its colour. */
export type Look =
  | { icon: IconName; text?: never; number?: never }
  // Its number is drawn by the style sheet: names that screen readers say do not contain it.
  | { icon?: never; text: string; number?: number };

/** What an image shows of a group that it is in. */
export interface Mark {
  readonly look: Look;
  readonly colour: number | string;
}

/** What a click can give to an image, where that is the same in every grid. */
export interface Choice {
  readonly name: string;
  readonly colour: number | string;
  /** Without one, its number distinguishes it. */
  readonly icon?: IconName;
  /** How many images have it. */
  readonly count: number;
}
