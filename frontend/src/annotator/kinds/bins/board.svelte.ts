import { Board } from '../../board.svelte';
import type { Key } from '../../texts';

/** Images lie in bins; a click chooses images, and a click on a bin puts them there. */
export class BinsBoard extends Board {
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
