/** Ticking every image that shows what is asked for. */
import type { Kind } from '../kind';
import { VoteBoard } from './board.svelte';
import SelectTask from './SelectTask.svelte';
import { VOTES } from './votes';

export const kind: Kind = {
  name: 'select',
  Task: SelectTask,
  Board: VoteBoard,
  words: {
    instructions: 'instructions_select',
    leftovers: 'votes_rest',
    help: 'help_select',
    touch: 'touch_select',
    digits: 'key_digits_select',
    enter: 'key_enter_select',
    all: 'key_all_select',
    escape: 'key_escape_select',
    range: 'key_range',
    undo: 'key_undo',
    rest: 'key_rest_select',
    paint: 'key_paint_marks',
    box: 'key_box',
    submit: 'key_submit',
    frames: 'practice_frames_select',
    warning: 'warning_text_select',
  },
  example: {
    label: 'example_label_select',
    text: 'example_text_select',
    groupOf: { circle: 0, square: -1, other: 2 },
    other: 'half',
    looks: VOTES,
    legend: VOTES.map(({ name }, group) => ({ group, name })),
  },
};
