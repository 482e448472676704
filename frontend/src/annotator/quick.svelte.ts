/** A kind question before an answer that came sooner than anyone can look at all its pictures. */
import type { Confirmation } from './arrangement.svelte';
import type { Board } from './board.svelte';
import { t } from './texts';
import type { QuickChoice } from './trace';

/** What is asked. */
export const QUICK: Confirmation = {
  get title() {
    return t('quick_title');
  },
  get text() {
    return t('quick_text');
  },
  back: 'quick_back',
  submit: 'quick_send',
};

/** Whether so many milliseconds are too few for so many images. */
export function isQuick(milliseconds: number, images: number, secondsEach: number): boolean {
  return milliseconds < 1000 * secondsEach * images;
}

export class QuickPause {
  isOpen = $state(false);
  /** What the pictures took to come. */
  private loading: number | null = null;
  /** The grouping that was asked about. */
  private of: Board['current'] | null = null;

  /** Can be made only while a component is. */
  constructor(private readonly board: Board) {
    const opened = board.elapsed;
    $effect(() => {
      if (!board.painted.isLoading) this.loading ??= board.elapsed - opened;
    });
    // Somebody who goes on sorting looks again.
    $effect(() => {
      if (this.isOpen && board.current !== this.of) this.isOpen = false;
    });
  }

  /** Whether the question comes before the answer: once for each grid. */
  opens(): boolean {
    const { board } = this;
    const images = board.subject.images.length - board.painted.unseenNow.length;
    const looked = board.elapsed - (this.loading ?? 0);
    if (board.wasQuick || !isQuick(looked, images, board.campaign.quick_pause)) return false;
    board.noteQuick(0);
    this.of = board.current;
    this.isOpen = true;
    return true;
  }

  close(choice: QuickChoice): void {
    this.isOpen = false;
    this.board.noteQuick(choice);
  }
}
