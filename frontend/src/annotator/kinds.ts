/** What the kinds of task say in words of their own. */
import type { CampaignForAnnotators } from '../api/types';
import type { Key } from './texts';

export type Kind = CampaignForAnnotators['kind'];

interface Words {
  readonly instructions: Key;
  /** What becomes of images that nothing is done with. */
  readonly leftovers: Key;
  readonly example: Key;
  readonly exampleLabel: Key;
  readonly help: Key;
  readonly digits: Key;
  readonly enter: Key;
  readonly all: Key;
  readonly escape: Key;
  /** Null where the kind has no such key. */
  readonly rest: Key | null;
  /** About the frames that show a known answer. */
  readonly frames: Key;
  readonly warning: Key;
}

const GRID: Words = {
  instructions: 'instructions_grid',
  leftovers: 'instructions_leftovers',
  example: 'example_text_grid',
  exampleLabel: 'example_label',
  help: 'help_grid',
  digits: 'key_digits',
  enter: 'key_enter',
  all: 'key_all',
  escape: 'key_escape',
  rest: 'key_rest',
  frames: 'practice_frames',
  warning: 'warning_text',
};

export const WORDS: Record<Kind, Words> = {
  grid: GRID,
  bins: {
    ...GRID,
    instructions: 'instructions_bins',
    example: 'example_text_bins',
    help: 'help_bins',
    digits: 'key_digits_bins',
    rest: null,
  },
  select: {
    instructions: 'instructions_select',
    leftovers: 'votes_rest',
    example: 'example_text_select',
    exampleLabel: 'example_label_select',
    help: 'help_select',
    digits: 'key_digits_select',
    enter: 'key_enter_select',
    all: 'key_all_select',
    escape: 'key_escape_select',
    rest: 'key_rest_select',
    frames: 'practice_frames_select',
    warning: 'warning_text_select',
  },
};
