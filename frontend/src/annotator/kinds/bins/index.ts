/** Dragging images into bins. */
import { ROUND_OR_CORNERS } from '../../examples';
import type { Kind } from '../kind';
import { GROUP_WORDS } from '../words';
import BinsTask from './BinsTask.svelte';
import { BinsBoard } from './board.svelte';

export const kind: Kind = {
  name: 'bins',
  Task: BinsTask,
  Board: BinsBoard,
  words: {
    ...GROUP_WORDS,
    instructions: 'instructions_bins',
    help: 'help_bins',
    touch: 'touch_bins',
    digits: 'key_digits_bins',
    rest: null,
    paint: null,
  },
  example: { ...ROUND_OR_CORNERS, text: 'example_text_bins', inBins: true },
};
