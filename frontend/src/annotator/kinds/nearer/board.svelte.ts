import type { LeasedImage } from '../../../api/types';
import { device } from '../../device';
import type { Key } from '../../texts';
import { t } from '../../texts';
import { ODD, OddBoard, TOGETHER } from '../odd_one_out/board.svelte';

/** One of two images is chosen that belongs with the first one (app/kinds/nearer.py). */
export class NearerBoard extends OddBoard {
  override get reference(): LeasedImage {
    return this.subject.images[0]!;
  }

  override get choices(): readonly LeasedImage[] {
    return this.subject.images.slice(1);
  }

  override get hint(): Key {
    return device().pointer === 'coarse' ? 'hint_nearer_touch' : 'hint_nearer';
  }

  override isExpected(image: number, truth: number): boolean {
    return truth === TOGETHER && image !== this.reference.image;
  }

  override pick(image: number): boolean {
    return image !== this.reference.image && super.pick(image);
  }

  override nameOf(image: number): string {
    const place = this.current.images.indexOf(image);
    return place === 0 ? t('nearer_reference') : t('image', { n: place });
  }

  protected override answerGroupOf(place: number, isChosen: boolean): number {
    return place === 0 || isChosen ? TOGETHER : ODD;
  }
}
