/** Colouring groups of images. */
import { Board } from '../../board.svelte';
import { ROUND_OR_CORNERS } from '../../examples';
import type { Kind } from '../kind';
import { GROUP_WORDS } from '../words';
import GridTask from './GridTask.svelte';

export const kind: Kind = {
  name: 'grid',
  Task: GridTask,
  Board,
  words: {
    ...GROUP_WORDS,
    instructions: 'instructions_grid',
    help: 'help_grid',
    pile: 'key_pile',
    touch: 'touch_grid',
  },
  example: {
    ...ROUND_OR_CORNERS,
    text: 'example_text_grid',
    legend: [
      { group: 0, name: 'example_round' },
      { group: 1, name: 'example_corners' },
    ],
  },
};
