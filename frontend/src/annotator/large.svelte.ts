/** The large view: as long as an image is held or hovered, or opened by a key until closed. */
import type { Board } from './board.svelte';
import { watchLoupes } from './loupe';
import { note, noted } from './notes';

const HOVER = 700;
const LINGER = 400;

const SETTING = 'large-on-hover';

/** Whether resting the mouse on an image shows it: a setting of this browser. */
export function showsOnHover(): boolean {
  return noted<boolean>(SETTING) ?? true;
}

export function setShowsOnHover(on: boolean): void {
  note(SETTING, on);
}

export class Large {
  image: number | null = $state(null);
  /** Opened to stay: as a dialog. */
  stays = $state(false);
  /** Where it is shown while the mouse rests: away from the image. */
  atStart = $state(false);
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
    this.stays = false;
    return was;
  }

  /** Svelte attachment: what pointers do to see images large, except holding them. */
  readonly byPointer = (node: HTMLElement): (() => void) => {
    const open = (image: number) => this.show(image, true);
    const stopping = [watchLoupes(node, () => void this.hide(), open), this.hover(node)];
    return () => stopping.forEach((stop) => stop());
  };

  /** Resting the mouse on an image shows it, on the other side of the grid. */
  private hover(node: HTMLElement): () => void {
    /** What the mouse was last on; a click there is no wish to see it large. */
    let last: HTMLElement | null = null;
    // A move, not just being over: a grid that comes up under a resting mouse was not pointed at.
    const move = (event: PointerEvent) => {
      if (this.stays || event.pointerType !== 'mouse') return;
      if (!showsOnHover()) return;
      const target = event.target as Element;
      // The view stays for as long as it takes to move onto it (WCAG 2.2, 1.4.13).
      if (target.closest('.large')) return clearTimeout(this.timer);
      const tile = event.buttons === 0 ? target.closest<HTMLElement>('[data-image]') : null;
      if (tile === last && (tile !== null || this.image === null)) return;
      last = tile;
      clearTimeout(this.timer);
      if (tile) this.timer = setTimeout(() => this.showBeside(tile, node), HOVER);
      else this.timer = setTimeout(() => void this.hide(), LINGER);
    };
    const off = () => {
      if (!this.stays) this.hide();
    };
    node.addEventListener('pointermove', move);
    node.addEventListener('pointerleave', off);
    node.addEventListener('pointerdown', off);
    return () => {
      off();
      node.removeEventListener('pointermove', move);
      node.removeEventListener('pointerleave', off);
      node.removeEventListener('pointerdown', off);
    };
  }

  private showBeside(tile: HTMLElement, node: HTMLElement): void {
    const [inner, outer] = [tile.getBoundingClientRect(), node.getBoundingClientRect()];
    const isRight = inner.left + inner.width / 2 > outer.left + outer.width / 2;
    this.atStart = isRight !== (getComputedStyle(node).direction === 'rtl');
    this.show(Number(tile.dataset['image']), false);
  }
}
