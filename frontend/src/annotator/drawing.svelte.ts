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

  /** Whether the image is reached; the name of the colour that it gets, null where it loses its. */
  of(image: number): boolean | number | string | null {
    if (!this.images.includes(image)) return false;
    const { active, hasSeveral } = this.board;
    if (!this.paints) return true;
    return hasSeveral ? this.ofSeveral(image, 2 ** active!) : this.board.colourOf(active!);
  }

  /** A label that all images under the stroke have already is taken off them. */
  private ofSeveral(image: number, label: number): number | string | null {
    const { board } = this;
    const maskOf = (reached: number): number => Math.max(board.groupOf(reached), 0);
    const isTakenOff = this.images.every((reached) => (maskOf(reached) & label) !== 0);
    if (!isTakenOff) return board.colourOf(label);
    const rest = maskOf(image) & ~label;
    return rest > 0 ? board.colourOf(rest) : null;
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
