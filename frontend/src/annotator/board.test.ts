import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { CampaignForAnnotators } from '../api/types';
import english from '../../../app/messages/en.json';
import type { Board } from './board.svelte';
import { Drawing } from './drawing.svelte';
import { newBoard } from './kinds';
import type { VoteBoard } from './kinds/select/board.svelte';
import { readTexts } from './texts';

const images = [17, 4, 99, 8].map((image) => ({
  image,
  url: '',
  large_url: '',
  alt_text: image === 99 ? 'a red barn' : '',
}));
const plain = { shift: false, control: false };
const [YES, NO, UNSURE] = [0, 1, 2];

function aBoard(name: string): Board {
  const board = aNewBoard(name);
  for (const { image } of images) board.painted.note(image);
  return board;
}

/** Before any of its pictures came. */
function aNewBoard(name: string): Board {
  const campaign = {
    interface: name,
    max_groups: 3,
    classes: ['a', 'b', 'c'],
    descriptions: 'none',
    languages: { question: { lang: null, dir: 'auto' } },
  } as CampaignForAnnotators;
  const resumed = { draft: null, version: 0, elapsed: 0, trace: [] };
  return newBoard(campaign, { id: 'a', images, first_colour: 4 }, resumed, () => {});
}

beforeAll(() => {
  const messages = JSON.stringify({ language: 'en', languages: {}, messages: english });
  readTexts({ textContent: messages } as Element);
  vi.stubGlobal('innerWidth', 800);
  vi.stubGlobal('innerHeight', 600);
  vi.stubGlobal('devicePixelRatio', 1);
  vi.stubGlobal('matchMedia', () => ({ matches: true }));
});

describe('votes', () => {
  it('are ticks by a click, taken away by the next, and no where nothing was said', () => {
    const board = aBoard('select');
    board.click(4, plain);
    board.click(99, plain);
    board.click(99, plain);
    expect(board.current.groups).toEqual([-1, YES, -1, -1]);
    expect(board.answer().groups).toEqual([NO, YES, NO, NO]);
    expect((board as VoteBoard).counts).toEqual([1, 3, 0]);
    expect(board.state).toBe('1\u00a0ticked, 0\u00a0unsure, 3\u00a0no');
    expect(board.missing).toEqual([]);
  });

  it('by a key leave alone what a click gives; chosen with nothing in hand, they change it', () => {
    const board = aBoard('select');
    board.sendTo(UNSURE, 17);
    board.click(4, plain);
    board.choose(new Set([99, 8]));
    board.sendTo(NO);
    expect(board.current.groups).toEqual([UNSURE, YES, NO, NO]);
    expect(board.active).toBe(YES);
    board.sendTo(UNSURE);
    board.click(8, plain);
    expect(board.current.groups).toEqual([UNSURE, YES, NO, UNSURE]);
  });

  it('cannot be given to what cannot be seen', () => {
    const board = aBoard('select');
    board.click(4, plain);
    board.reportBroken(4);
    board.click(4, plain);
    board.rest(YES);
    expect(board.answer()).toMatchObject({ groups: [YES, -1, YES, YES], unseen: [4] });
  });

  it('are named, and keep their colours', () => {
    const board = aBoard('select');
    board.click(4, plain);
    expect(board.announcement).toContain('Image 2: yes.');
    expect([17, 4].map((image) => board.labelOf(image))).toEqual([
      'Image 1, not ticked',
      'Image 2, yes',
    ]);
    expect(board.describedNameOf(99)).toBe('Image 3: a red barn');
    expect(board.labelOf(99, board.describedNameOf(99))).toBe('Image 3: a red barn, not ticked');
    expect(board.describedNameOf(17)).toBe('Image 1');
    expect([YES, NO, UNSURE].map((vote) => board.colourOf(vote))).toEqual(['yes', 'no', 'unsure']);
  });

  it('can be taken away at any time, and a click ticks still', () => {
    const board = aBoard('select');
    expect(board.isUntouched).toBe(true);
    board.click(4, plain);
    expect(board.isUntouched).toBe(false);
    board.escape(4);
    board.escape(null);
    expect(board.isUntouched).toBe(true);
    board.click(4, plain);
    expect(board.groupOf(4)).toBe(YES);
  });
});

it('in groups, a key chooses the group for the clicks to come', () => {
  const board = aBoard('grid');
  board.sendTo(2, 17);
  board.click(4, plain);
  expect(board.answer().groups).toEqual([2, 2, -1, -1]);
  expect(board.colourOf(2)).toBe(6);
  board.escape(null);
  expect(board.active).toBeNull();
});

describe('pictures', () => {
  it('are waited for until they are painted, have failed or were reported', () => {
    const { painted } = aNewBoard('grid');
    expect(painted.isLoading).toBe(true);
    expect(painted.unseenNow).toEqual([17, 4, 99, 8]);
    painted.note(17);
    painted.refuse(4);
    painted.reported = new Set([99]);
    expect(painted.isLoading).toBe(true);
    painted.giveUp();
    expect(painted.isLoading).toBe(false);
    expect(painted.failed).toEqual([4, 8]);
    painted.note(8);
    expect([...painted.unseen]).toEqual([99, 4]);
    expect(painted.unseenNow).toEqual([4, 99]);
  });

  it('that were not painted are in no group of the answer, and need no words', () => {
    const board = aNewBoard('grid');
    for (const image of [17, 4, 99]) board.painted.note(image);
    board.choose(new Set([17, 4]));
    board.sendTo(0);
    board.choose(new Set([8]));
    board.sendTo(1);
    board.painted.refuse(8);
    expect(board.answer()).toMatchObject({ groups: [0, 0, -1, -1], unseen: [8] });
    board.painted.note(8);
    expect(board.answer()).toMatchObject({ groups: [0, 0, -1, 1], unseen: [] });
  });

  it('ask for no group where fewer than two can be seen', () => {
    const board = aNewBoard('grid');
    board.painted.note(17);
    expect(board.missing).toEqual([{ kind: 'images' }]);
    board.painted.giveUp();
    expect(board.missing).toEqual([]);
    expect(board.left).toBe(1);
  });
});

describe('a stroke', () => {
  function stroked(board: Board, ...images: number[]): readonly number[] {
    const drawing = new Drawing(board);
    drawing.over(images, true);
    drawing.drop(false);
    return board.current.groups;
  }

  it('leaves alone what is sorted, unless it begins there', () => {
    const board = aBoard('grid');
    board.click(99, plain);
    board.sendTo(1);
    expect(stroked(board, 17, 99, 8)).toEqual([1, -1, 0, 1]);
    expect(stroked(board, 99, 4)).toEqual([1, 1, 1, 1]);
    board.undo();
    expect(board.current.groups).toEqual([1, -1, 0, 1]);
  });

  it('chooses images while others are chosen, and does nothing when cancelled', () => {
    const board = aBoard('grid');
    board.choose(new Set([4]));
    stroked(board, 17, 99);
    expect([...board.selected]).toEqual([4, 17, 99]);
    const drawing = new Drawing(board);
    drawing.over([8], true);
    drawing.drop(true);
    expect([board.selected.size, drawing.of(8)]).toEqual([3, false]);
  });

  it('shows the colour that an image gets', () => {
    const board = aBoard('grid');
    board.sendTo(2);
    const drawing = new Drawing(board);
    drawing.over([17], true);
    expect([drawing.of(17), drawing.of(4)]).toEqual([6, false]);
    drawing.over([17], false);
    expect(drawing.of(17)).toBe(true);
  });
});

describe('piles', () => {
  it('become one in one step, which is recorded as images that were put, and described', () => {
    const board = aBoard('grid');
    board.put([17], 0);
    board.put([4, 99], 1);
    board.describe(1, 'red');
    board.active = 1;
    board.merge(1, 0);
    expect(board.current.groups).toEqual([0, 0, 0, -1]);
    expect(board.active).toBe(0);
    expect(board.announcement).toBe('2 images moved to Group 1. 1 image left.');
    const events = board.answer().trace!.map((event) => (event as unknown[]).slice(1));
    expect(events.slice(-2)).toEqual([
      ['p', 0, 1, 2],
      ['d', 0],
    ]);
    board.undo();
    expect(board.current.groups).toEqual([0, 1, 1, -1]);
    expect(board.current.descriptions.slice(0, 2)).toEqual(['', 'red']);
  });
});

describe('a stroke of labels, while it is drawn', () => {
  it('shows the label, or what is left where every image has it already', () => {
    const board = aBoard('labels');
    board.put([17, 4], 0);
    board.put([4], 1);
    board.active = 0;
    const drawing = new Drawing(board);
    drawing.over([17, 4, 99], true);
    expect([17, 4, 99, 8].map((image) => drawing.of(image))).toEqual([
      ...[17, 4, 99].map(() => board.colourOf(1)),
      false,
    ]);
    drawing.over([17, 4], true);
    expect([17, 4].map((image) => drawing.of(image))).toEqual([null, board.colourOf(2)]);
    drawing.drop(false);
    expect([17, 4].map((image) => board.groupOf(image))).toEqual([-1, 2]);
  });
});
