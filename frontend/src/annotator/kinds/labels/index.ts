/** Giving each image any of the requester's labels. */
import { ROUND_OR_CORNERS } from '../../examples';
import type { Kind } from '../kind';
import { LabelBoard } from './board.svelte';
import LabelTask from './LabelTask.svelte';

export const kind: Kind = {
  name: 'labels',
  Task: LabelTask,
  Board: LabelBoard,
  words: {
    instructions: 'instructions_labels',
    leftovers: 'labels_rest',
    help: 'help_labels',
    touch: 'touch_labels',
    digits: 'key_digits_labels',
    enter: 'key_enter_labels',
    all: 'key_all_labels',
    escape: 'key_escape_labels',
    range: 'key_range',
    undo: 'key_undo',
    rest: 'key_rest_labels',
    paint: 'key_paint_marks',
    box: 'key_box',
    submit: 'key_submit',
    frames: 'practice_frames_classes',
    warning: 'warning_text_classes',
  },
  example: {
    ...ROUND_OR_CORNERS,
    label: 'example_label_labels',
    text: 'example_text_labels',
    legend: [
      { group: 0, name: 'example_round' },
      { group: 1, name: 'example_corners' },
    ],
  },
};
