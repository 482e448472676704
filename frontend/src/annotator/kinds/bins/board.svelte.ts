import { Board } from '../../board.svelte';
import { imagesOf, LEFT } from '../../grouping';
import type { Key } from '../../texts';

/** Images lie in bins; a click chooses images, and a click on a bin puts them there. */
export class BinsBoard extends Board {
  /** Images with a place in the tray. It stays free when they leave, so that no other moves. */
  private placed: readonly number[] = $state.raw(imagesOf(this.current, LEFT));
  readonly places = $derived.by(() => {
    const back = imagesOf(this.current, LEFT).filter((image) => !this.placed.includes(image));
    return [...this.placed, ...back];
  });
  readonly hasGaps = $derived(this.places.some((image) => this.groupOf(image) !== LEFT));

  /** Closes the gaps: the only thing that moves images in the tray. */
  tidy(): void {
    this.placed = imagesOf(this.current, LEFT);
  }

  /** The next one that is still to be sorted; an image that is taken out of a bin stays at hand. */
  override nextAfter(image: number): number {
    if (this.groupOf(image) !== LEFT) return image;
    const isToSort = (other: number) =>
      other !== image &&
      this.groupOf(other) === LEFT &&
      !this.selected.has(other) &&
      !this.broken.has(other);
    const at = this.places.indexOf(image);
    return [...this.places.slice(at), ...this.places.slice(0, at)].find(isToSort) ?? image;
  }

  protected override get firstActive(): number | null {
    return null;
  }

  protected override get noun(): Key {
    return 'bin';
  }

  override isPressed(): boolean {
    return false;
  }

  protected override activates(): boolean {
    return false;
  }
}
