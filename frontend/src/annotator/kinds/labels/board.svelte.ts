import type { AnswerIn, CampaignForAnnotators } from '../../../api/types';
import type { Confirmation } from '../../arrangement.svelte';
import type { Mark } from '../../looks';
import { type Grouping, LEFT, withGroups } from '../../grouping';
import { type Key, t } from '../../texts';
import { ClassBoard } from '../classify/board.svelte';
import { labelsIn, switched } from './masks';

/** With more labels than this, an image shows their numbers only. */
const MOST_NAMED = 2;

/** Groups are masks of labels that are on; an image without a label counts as having none. */
export class LabelBoard extends ClassBoard {
  override readonly clearLabel: Key = 'clear_labels';
  override readonly hasSeveral = true;

  override colourOf(mask: number): number | string {
    const labels = labelsIn(mask);
    return labels.length === 1 ? labels[0]! : 'several';
  }

  override marksOf(mask: number): readonly Mark[] {
    const labels = labelsIn(mask);
    if (labels.length === 0) return [{ look: { icon: 'clear' }, colour: 'several' }];
    const named = labels.length <= MOST_NAMED;
    return labels.map((label) => ({
      look: named ? this.lookOf(label) : { text: '', number: label + 1 },
      colour: label,
    }));
  }

  override knownMarksOf(truth: number): readonly Mark[] {
    return this.marksOf(truth);
  }

  override knownLabelOf(image: string, truth: number): string {
    return t('vote_known', { image, vote: this.namesOf(truth) });
  }

  override agrees(mask: number, truth: number): boolean {
    return Math.max(mask, 0) === Math.max(truth, 0);
  }

  override confirmation(): Confirmation | null {
    if (this.left === 0 || !this.isUntouched) return null;
    return {
      title: t('unlabelled_title'),
      text: t('unlabelled_text'),
      back: 'untouched_back',
      submit: 'unlabelled_submit',
    };
  }

  protected override imagesWith(label: number): number[] {
    return this.current.images.filter((image) => labelsIn(this.groupOf(image)).includes(label));
  }

  /** Switches a label for images, or takes all labels from them (LEFT). */
  override put(images: readonly number[], label: number): void {
    if (label === LEFT) return super.put(images, label);
    const chosen = images.filter((image) => this.canPut(image, label));
    if (chosen.length === 0) return;
    const before = this.current;
    const isChosen = before.images.map((image) => chosen.includes(image));
    const next = withGroups(before, switched(before.groups, isChosen, label));
    const isOn = labelsIn(next.groups[isChosen.indexOf(true)]!).includes(label);
    this.selected = new Set();
    const values = {
      images: chosen.length === 1 ? this.nameOf(chosen[0]!) : this.counted(chosen.length),
      label: this.placeOf(label),
      left: this.leftIn(next),
    };
    this.change(next, t(isOn ? 'said_labelled' : 'said_unlabelled', values), 's', ...next.groups);
  }

  /** A click switches the active label, whatever other labels the image has. */
  protected override mark(image: number, active: number): void {
    this.put([image], active);
  }

  protected override limitOf({ max_groups }: CampaignForAnnotators): number {
    return 2 ** max_groups;
  }

  protected override groupsOf(next: Grouping): Pick<AnswerIn, 'groups'> {
    const groups = next.groups.map((mask, k) =>
      this.painted.unseen.has(next.images[k]!) ? LEFT : Math.max(mask, 0),
    );
    return { groups };
  }

  protected override announcementOf(images: string, _group: number, left: string): string {
    return t('said_labels_removed', { images, left });
  }

  protected override get saidCleared(): Key {
    return 'said_labels_cleared';
  }

  protected override whereOf(image: string, mask: number): string {
    return t('image_vote', { image, vote: this.namesOf(mask) });
  }

  protected override leftIn(next: Grouping): string {
    const n = next.groups.filter(
      (mask, k) => mask <= 0 && !this.painted.unseen.has(next.images[k]!),
    ).length;
    return t('unlabelled_count', { n });
  }

  private namesOf(mask: number): string {
    const names = labelsIn(mask).map((label) => this.placeOf(label));
    return names.join(', ') || t('no_label');
  }
}
