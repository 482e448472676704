/** Giving each image one of the requester's classes. */
import { ROUND_OR_CORNERS } from '../../examples';
import type { Kind } from '../kind';
import { ClassBoard } from './board.svelte';
import ClassTask from './ClassTask.svelte';

export const kind: Kind = {
  name: 'classify',
  Task: ClassTask,
  Board: ClassBoard,
  words: {
    instructions: 'instructions_classify',
    leftovers: 'classes_rest',
    help: 'help_classify',
    touch: 'touch_classify',
    digits: 'key_digits_classify',
    enter: 'key_enter_classify',
    all: 'key_all_classify',
    escape: 'key_escape_classify',
    range: 'key_range',
    undo: 'key_undo',
    rest: 'key_rest_classify',
    paint: 'key_paint_marks',
    box: 'key_box',
    submit: 'key_submit',
    frames: 'practice_frames_classes',
    warning: 'warning_text_classes',
  },
  example: {
    ...ROUND_OR_CORNERS,
    label: 'example_label_classify',
    text: 'example_text_classify',
    legend: [
      { group: 0, name: 'example_round' },
      { group: 1, name: 'example_corners' },
    ],
  },
};
