/** The large view: as long as an image is held or hovered, or opened by a key until closed. */
import type { Board } from './board.svelte';

const HOVER = 700;
const LINGER = 400;

export class Large {
  image: number | null = $state(null);
  /** Opened to stay: as a dialog. */
  stays = $state(false);
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly board: Board) {}

  get url(): string | null {
    return this.board.subject.images.find(({ image }) => image === this.image)?.large_url ?? null;
  }

  show(image: number, stays: boolean): void {
    clearTimeout(this.timer);
    this.image = image;
    this.stays = stays;
    this.board.noteLarge(image);
  }

  /** True when there was something to hide. */
  hide(): boolean {
    clearTimeout(this.timer);
    const was = this.image !== null;
    this.image = null;
    return was;
  }

  /** Svelte attachment: resting the mouse on an image shows it. */
  readonly onHover = (node: HTMLElement): (() => void) => {
    const over = (event: PointerEvent) => {
      if (this.stays && this.image !== null) return;
      clearTimeout(this.timer);
      const target = event.target as Element;
      if (target.closest('.large')) return;
      if (event.pointerType !== 'mouse' || event.buttons !== 0) return;
      const tile = target.closest<HTMLElement>('[data-image]');
      if (Number(tile?.dataset['image']) === this.image) return;
      // The view stays for as long as it takes to move onto it (WCAG 2.2, 1.4.13).
      this.timer = setTimeout(
        () => (tile ? this.show(Number(tile.dataset['image']), false) : void this.hide()),
        tile ? HOVER : LINGER,
      );
    };
    const off = () => {
      if (!this.stays) this.hide();
    };
    node.addEventListener('pointerover', over);
    node.addEventListener('pointerleave', off);
    node.addEventListener('pointerdown', off);
    return () => {
      off();
      node.removeEventListener('pointerover', over);
      node.removeEventListener('pointerleave', off);
      node.removeEventListener('pointerdown', off);
    };
  };
}
