/** Nothing is submitted before the pictures are there, and the page says so. */
import type { Confirmation } from './arrangement.svelte';
import type { Board } from './board.svelte';
import { t } from './texts';

/** Milliseconds. Pictures normally come sooner, and need no announcement. */
const LATE = 1000;

export class Waiting {
  private isLate = $state(false);

  /** Can be made only while a component is. */
  constructor(private readonly board: Board) {
    $effect(() => {
      if (!this.isLoading) return;
      const timer = setTimeout(() => (this.isLate = true), LATE);
      return () => {
        clearTimeout(timer);
        this.isLate = false;
      };
    });
  }

  get isLoading(): boolean {
    return this.board.painted.isLoading;
  }

  get sentence(): string {
    if (this.isLoading) return this.isLate ? t('pictures_loading') : '';
    const n = this.board.painted.failed.length;
    return n > 0 ? t('pictures_failed', { n }) : '';
  }

  /** What is asked before an answer is submitted although some pictures were never shown. */
  get question(): Confirmation | null {
    const n = this.board.painted.failed.length;
    if (n === 0) return null;
    const [title, text] = [t('pictures_title'), t('pictures_text', { n })];
    return { title, text, back: 'pictures_back', submit: 'leftovers_submit' };
  }

  /** Whether it is too early to submit; from then on the page says why. */
  refuses(): boolean {
    this.isLate ||= this.isLoading;
    return this.isLoading;
  }
}
