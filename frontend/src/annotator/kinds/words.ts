/** Words of the kinds in which people make groups. */
import type { Words } from './kind';

export const GROUP_WORDS: Omit<Words, 'instructions' | 'help' | 'touch'> = {
  leftovers: 'instructions_leftovers',
  digits: 'key_digits',
  enter: 'key_enter',
  all: 'key_all',
  escape: 'key_escape',
  range: 'key_range',
  undo: 'key_undo',
  rest: 'key_rest',
  paint: 'key_paint',
  box: 'key_box',
  submit: 'key_submit',
  frames: 'practice_frames',
  warning: 'warning_text',
};
