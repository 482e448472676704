/** Which images are chosen: some, by their hashes, or all that the search finds. */
import { SvelteSet } from 'svelte/reactivity';
import type { CopyIn, Image, SelectionIn } from '../../api/types';
import type { ImageList } from './images.svelte';

export class Chosen {
  readonly hashes = new SvelteSet<string>();
  all = $state(false);

  private anchor = 0;

  constructor(private readonly images: ImageList) {}

  get n(): number {
    return this.all ? this.images.total : this.hashes.size;
  }

  has(image: Image): boolean {
    return this.all || this.hashes.has(image.sha256);
  }

  /** A click; with Shift everything from the last click to here. */
  async toggle(index: number, withShift: boolean): Promise<void> {
    const image = this.images.at(index);
    if (!image) return;
    if (this.all) {
      this.clear();
    } else if (withShift) {
      const [first, last] = [Math.min(this.anchor, index), Math.max(this.anchor, index)];
      for (const one of await this.images.between(first, last)) this.hashes.add(one.sha256);
    } else if (!this.hashes.delete(image.sha256)) {
      this.hashes.add(image.sha256);
    }
    this.anchor = index;
  }

  /** A click on a checkbox, which shows afterwards what is so: the browser may have guessed wrong. */
  async check(index: number, event: MouseEvent & { currentTarget: HTMLInputElement }) {
    const box = event.currentTarget;
    await this.toggle(index, event.shiftKey);
    const image = this.images.at(index);
    box.checked = image !== undefined && this.has(image);
  }

  clear(): void {
    this.all = false;
    this.hashes.clear();
  }

  /** The images of a new collection. */
  asCopy(): Omit<CopyIn, 'name'> {
    const { sha256, filter, expected } = this.asBody();
    return { sha256, positions: [], filter, expected };
  }

  /** As the server is told of it. */
  asBody(): SelectionIn {
    if (!this.all) return { sha256: [...this.hashes], unused_only: false };
    const { search, attribute, missing } = this.images.query;
    const filter = { search, attribute: [...attribute], missing: [...missing] };
    return { sha256: [], filter, expected: this.images.total, unused_only: false };
  }
}
