import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Board } from './board.svelte';
import { Painted } from './painted.svelte';
import { isQuick, QuickPause } from './quick.svelte';

it.each([
  [7199, 24, 0.3, true],
  [7200, 24, 0.3, false],
  [0, 24, 0, false],
  [100, 0, 0.3, false],
])('%d ms for %d images with %d s each', (milliseconds, images, each, quick) =>
  expect(isQuick(milliseconds, images, each)).toBe(quick),
);

describe('the question', () => {
  const IMAGES = [17, 4, 99, 8];
  /** Two seconds are enough. */
  const EACH = 0.5;

  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));

  function aBoard(elapsed = 0): Board {
    const painted = new Painted(IMAGES);
    const images = IMAGES.map((image) => ({ image }));
    const board = { painted, elapsed, current: {}, subject: { images }, noteQuick: () => {} };
    return { ...board, campaign: { quick_pause: EACH } } as unknown as Board;
  }

  it('counts from the first picture on: images are sorted while the others come', () => {
    const board = aBoard();
    const quick = new QuickPause(board);
    vi.advanceTimersByTime(60_000);
    board.painted.note(17);
    vi.advanceTimersByTime(1900);
    for (const image of IMAGES) board.painted.note(image);
    expect(quick.opens()).toBe(true);
    vi.advanceTimersByTime(100);
    expect(quick.opens()).toBe(false);
  });

  it('counts what was spent before the page was opened again', () => {
    const board = aBoard(1500);
    const quick = new QuickPause(board);
    for (const image of IMAGES) board.painted.note(image);
    vi.advanceTimersByTime(500);
    expect(quick.opens()).toBe(false);
  });

  it('is not asked where nothing can be seen', () => {
    expect(new QuickPause(aBoard()).opens()).toBe(false);
  });
});
