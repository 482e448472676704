/** The large view: as long as an image is held or hovered, or opened by a key until closed. */
import type { Board } from './board.svelte';

const HOVER = 700;

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

  hide(): void {
    clearTimeout(this.timer);
    this.image = null;
  }

  /** Svelte attachment: resting the mouse on an image shows it. */
  readonly onHover = (node: HTMLElement): (() => void) => {
    const over = (event: PointerEvent) => {
      if (this.stays && this.image !== null) return;
      this.hide();
      if (event.pointerType !== 'mouse' || event.buttons !== 0) return;
      const tile = (event.target as Element).closest<HTMLElement>('[data-image]');
      if (!tile) return;
      this.timer = setTimeout(() => this.show(Number(tile.dataset['image']), false), HOVER);
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
