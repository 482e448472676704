import type { AnswerIn, LeasedImage } from '../../../api/types';
import type { Confirmation } from '../../arrangement.svelte';
import { Board } from '../../board.svelte';
import { device } from '../../device';
import type { Look } from '../../looks';
import {
  assign,
  clear,
  type Draft,
  type Grouping,
  imagesOf,
  LEFT,
  type Missing,
} from '../../grouping';
import { type Key, t } from '../../texts';

/** Groups as the server knows them (app/kinds/odd_one_out.py). */
export const TOGETHER = 0;
export const ODD = 1;
/** Of fewer, none is the odd one. */
const FEWEST = 3;

/** One image is chosen; all others belong together. */
export class OddBoard extends Board {
  /** The image that the others are compared with, if there is one; it cannot be chosen. */
  get reference(): LeasedImage | null {
    return null;
  }

  get hint(): Key {
    return device().pointer === 'coarse' ? 'hint_odd_touch' : 'hint_odd';
  }

  /** The images of which one is chosen. */
  get choices(): readonly LeasedImage[] {
    return this.subject.images;
  }

  /** Whether this image was expected, by its known group. */
  isExpected(_image: number, truth: number): boolean {
    return truth === ODD;
  }

  /** Whether too few images can be seen to choose one. */
  readonly isHopeless = $derived.by(() => this.seenOf(this.current.images).length < FEWEST);

  /** Chooses this image instead of another one; false where it cannot be seen. */
  pick(image: number): boolean {
    if (this.isHopeless || this.painted.unseen.has(image)) return false;
    if (this.isUntouched) this.put([image], ODD);
    else this.chooseInstead(image);
    return true;
  }

  /** Two devices may have chosen different images of the same grid: one stays. */
  override takeOver(draft: Draft): void {
    super.takeOver(draft);
    const chosen = imagesOf(this.current, ODD);
    if (chosen.length > 1) this.chooseInstead(chosen[0]!);
  }

  override colourOf(): number {
    return 0;
  }

  override lookOf(): Look {
    return { icon: 'check' };
  }

  override knownLookOf(): Look {
    return { icon: 'check' };
  }

  override knownLabelOf(image: string): string {
    return t('odd_known', { image });
  }

  override confirmation(): Confirmation | null {
    return null;
  }

  protected override missingOf(): Missing[] {
    return this.isUntouched && !this.isHopeless ? [{ kind: 'images' }] : [];
  }

  protected override groupsOf(next: Grouping): Pick<AnswerIn, 'groups'> {
    const groups = next.groups.map((group, k) => {
      if (this.isHopeless || this.painted.unseen.has(next.images[k]!)) return LEFT;
      return this.answerGroupOf(k, group === ODD);
    });
    return { groups };
  }

  /** The group that the image at this place has in the answer. */
  protected answerGroupOf(_place: number, isChosen: boolean): number {
    return isChosen ? ODD : TOGETHER;
  }

  protected override announcementOf(images: string, group: number): string {
    return group === ODD ? t('odd_chosen', { image: images }) : '';
  }

  protected override whereOf(image: string, group: number): string {
    return group === ODD ? t('odd_chosen', { image }) : image;
  }

  private chooseInstead(image: number): void {
    const next = assign(clear(this.current), [image], ODD);
    this.change(next, t('odd_chosen', { image: this.nameOf(image) }), 's', ...next.groups);
  }
}
