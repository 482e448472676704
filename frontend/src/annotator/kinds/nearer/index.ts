/** Choosing which of two images is nearer to a third one. */
import type { Kind } from '../kind';
import { kind as odd } from '../odd_one_out';
import { NearerBoard } from './board.svelte';

export const kind: Kind = {
  ...odd,
  name: 'nearer',
  Board: NearerBoard,
  digits: ({ grid_size }) => grid_size - 1,
  words: {
    ...odd.words,
    instructions: 'instructions_nearer',
    help: 'help_nearer',
    digits: 'key_digits_nearer',
  },
  example: {
    label: 'example_label_nearer',
    text: 'example_text_nearer',
    shapes: [
      ['circle', '#3a7bd5'],
      ['square', '#4f9d69'],
      ['other', '#d9822b'],
    ],
    groupOf: { circle: -1, square: -1, other: 0 },
    other: 'half',
    looks: [{ icon: 'check', colour: '0' }],
  },
};
