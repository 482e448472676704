/** What a kind of task is to the annotators' page: one folder here for each. */
import type { Component } from 'svelte';
import type { CampaignForAnnotators } from '../../api/types';
import type { Board } from '../board.svelte';
import type { Example } from '../examples';
import type { TaskProps } from '../tasks';
import type { Key } from '../texts';

/** What a kind says in words of its own. */
export interface Words {
  readonly instructions: Key;
  /** What becomes of images that nothing is done with. */
  readonly leftovers: Key;
  readonly help: Key;
  /** How a grid works by touch, in one line; null where the task says so at any time. */
  readonly touch: Key | null;
  readonly digits: Key;
  readonly enter: Key;
  /** Null where the kind has no such key or gesture. */
  readonly all: Key | null;
  readonly escape: Key | null;
  readonly range: Key | null;
  readonly undo: Key | null;
  readonly rest: Key | null;
  readonly paint: Key | null;
  readonly box: Key | null;
  readonly submit: Key | null;
  readonly pile?: Key;
  /** About the frames that show a known answer. */
  readonly frames: Key;
  readonly warning: Key;
}

export interface Kind {
  /** The name by which the server knows it. */
  readonly name: string;
  /** Where people answer. */
  readonly Task: Component<TaskProps>;
  /** What they have made of a grid, and what they may do with it. */
  readonly Board: typeof Board;
  /** How many number keys mean something; without it, one for each group. */
  readonly digits?: (campaign: CampaignForAnnotators) => number;
  readonly words: Words;
  readonly example: Example;
}
