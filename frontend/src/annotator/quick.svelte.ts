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
  /** The grouping that is asked about. Somebody who goes on sorting looks again. */
  private asked: Board['current'] | null = $state.raw(null);
  /** Milliseconds spent on the grid before the page was opened again. */
  private readonly before: number;

  constructor(private readonly board: Board) {
    this.before = board.elapsed;
  }

  get isOpen(): boolean {
    return this.asked === this.board.current;
  }

  /** Whether the question comes before the answer: once for each grid. */
  opens(): boolean {
    const { board } = this;
    const images = board.subject.images.length - board.painted.unseenNow.length;
    if (board.wasQuick || !isQuick(this.looked, images, board.campaign.quick_pause)) return false;
    board.noteQuick(0);
    this.asked = board.current;
    return true;
  }

  close(choice: QuickChoice): void {
    this.asked = null;
    this.board.noteQuick(choice);
  }

  /** Milliseconds since there was something to look at: images are sorted while others come. */
  private get looked(): number {
    const now = performance.now();
    return this.before + now - (this.board.painted.since ?? now);
  }
}
