import { Board } from '../../board.svelte';
import { imagesOf, LEFT } from '../../grouping';
import type { Key } from '../../texts';

/** Images lie in bins; a click chooses images, and a click on a bin puts them there. */
export class BinsBoard extends Board {
  /** Images with a place in the tray. It stays free when they leave, so that no other moves. */
  private placed: readonly number[] = $state.raw(imagesOf(this.current, LEFT));
  private readonly tray = $derived.by(() => {
    const back = imagesOf(this.current, LEFT).filter((image) => !this.placed.includes(image));
    return [...this.placed, ...back];
  });
  readonly hasGaps = $derived(this.tray.some((image) => this.groupOf(image) !== LEFT));

  override get places(): readonly number[] {
    return this.tray;
  }

  /** Closes the gaps: the only thing that moves images in the tray. */
  tidy(): void {
    this.placed = imagesOf(this.current, LEFT);
  }

  /** The next one that is still to be sorted; an image that is taken out of a bin stays at hand. */
  override nextAfter(image: number): number {
    if (this.groupOf(image) !== LEFT) return image;
    return super.nextAfter(image);
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
