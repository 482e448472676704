/** Choosing the image that is least like the others. */
import type { Kind } from '../kind';
import { GROUP_WORDS } from '../words';
import { OddBoard } from './board.svelte';
import OddTask from './OddTask.svelte';

export const kind: Kind = {
  name: 'odd_one_out',
  Task: OddTask,
  Board: OddBoard,
  digits: ({ grid_size }) => grid_size,
  words: {
    ...GROUP_WORDS,
    instructions: 'instructions_odd',
    leftovers: 'odd_rest',
    help: 'help_odd',
    touch: null,
    digits: 'key_digits_odd',
    enter: 'key_enter_odd',
    all: null,
    escape: null,
    range: null,
    undo: null,
    rest: null,
    paint: null,
    box: null,
    submit: null,
    frames: 'practice_frames_odd',
    warning: 'warning_text_odd',
  },
  example: {
    label: 'example_label_odd',
    text: 'example_text_odd',
    shapes: [
      ['circle', '#3a7bd5'],
      ['square', '#d9822b'],
      ['circle', '#4f9d69'],
    ],
    groupOf: { circle: -1, square: 0, other: -1 },
    other: 'star',
    looks: [{ icon: 'check', colour: '0' }],
  },
};
