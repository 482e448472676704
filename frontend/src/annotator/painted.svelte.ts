/** Which pictures of a grid are painted. An answer says nothing about an image that was not. */
import type { Selection } from './selection';

const NOTHING: Selection = new Set();

export class Painted {
  /** Images that the annotator reported as broken. */
  reported: Selection = $state.raw(NOTHING);
  /** Images whose picture is decoded and in the document. */
  private shown: Selection = $state.raw(NOTHING);
  /** When the first picture was there, by the page's clock. */
  since: number | null = null;
  /** Images whose own address brought no picture. */
  private refused: Selection = $state.raw(NOTHING);
  private isOver = $state(false);
  /** Images whose last request failed. */
  private readonly due = new Set<number>();
  private readonly missing = $derived.by(() =>
    this.images.filter((image) => !this.shown.has(image) && !this.reported.has(image)),
  );
  /** Images that the annotator need not wait for any longer. */
  readonly failed = $derived.by(() =>
    this.missing.filter((image) => this.isOver || this.refused.has(image)),
  );
  readonly isLoading = $derived.by(() => this.failed.length < this.missing.length);
  /** Images about which the annotator can say nothing. */
  readonly unseen: Selection = $derived.by(() => new Set([...this.reported, ...this.failed]));

  constructor(private readonly images: readonly number[]) {}

  /** Images that an answer given now says nothing about. */
  get unseenNow(): number[] {
    return this.images.filter((image) => this.reported.has(image) || !this.shown.has(image));
  }

  /** Whether to ask for this picture once more; not while the last request is under way. */
  isDue(image: number): boolean {
    return this.due.delete(image) && !this.shown.has(image);
  }

  note(image: number): void {
    this.since ??= performance.now();
    if (!this.shown.has(image)) this.shown = new Set([...this.shown, image]);
  }

  refuse(image: number): void {
    this.due.add(image);
    if (!this.refused.has(image)) this.refused = new Set([...this.refused, image]);
  }

  /** Nobody has to wait any longer. Pictures that come later still count as shown. */
  giveUp(): void {
    this.isOver = true;
  }
}
