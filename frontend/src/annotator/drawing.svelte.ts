/** What a stroke or a box would do to the images that it reached so far, while it is drawn. */
import type { Board } from './board.svelte';
import { LEFT } from './grouping';

export class Drawing {
  images: readonly number[] = $state.raw([]);
  /** Whether the images get the active group, or are chosen. */
  paints = $state(false);

  constructor(private readonly board: Board) {}

  /** While images are chosen, a drag chooses more of them, as a click does. */
  get canPaint(): boolean {
    return this.board.active !== null && this.board.selected.size === 0;
  }

  over(images: readonly number[], isStroke: boolean): void {
    this.paints = isStroke && this.canPaint;
    this.images = this.paints ? this.paintable(images) : images;
  }

  drop(cancelled: boolean): void {
    const images = this.images;
    this.images = [];
    if (cancelled || images.length === 0) return;
    const { board } = this;
    if (this.paints && board.active !== null) board.put(images, board.active);
    else if (this.paints) return;
    else board.choose(new Set([...board.selected, ...images]));
  }

  /** Whether the image is reached; the name of the colour that it gets, if it gets one. */
  of(image: number): boolean | number | string {
    if (!this.images.includes(image)) return false;
    const { active, hasSeveral } = this.board;
    return !this.paints || this.board.colourOf(hasSeveral ? 2 ** active! : active!);
  }

  /**
   * A stroke that began on an image without a group leaves alone what is sorted already; one that
   * began on an image of another group changes all that it crosses.
   */
  private paintable(images: readonly number[]): readonly number[] {
    const { board } = this;
    const first = board.groupOf(images[0]!);
    if (board.hasSeveral || (first !== LEFT && first !== board.active)) return images;
    return images.filter((image) => board.groupOf(image) === LEFT);
  }
}
