import type { IconName } from '../../icons';
import type { Confirmation } from '../../arrangement.svelte';
import { Board } from '../../board.svelte';
import type { Choice, Look } from '../../looks';
import { LEFT, type Missing } from '../../grouping';
import { type Key, t } from '../../texts';

/** Groups are classes that the requester named; an image in none counts as "can't tell". */
export class ClassBoard extends Board {
  override readonly showsCounts: boolean = true;
  override readonly clearLabel: Key = 'clear_classes';
  override readonly chosenIcon: IconName = 'chosen';
  readonly choices = $derived.by<Choice[]>(() =>
    this.campaign.classes.map((name, number) => ({
      name,
      colour: number,
      count: this.imagesWith(number).length,
    })),
  );

  /** Classes have the same colour in every grid. */
  override colourOf(group: number): number | string {
    return group;
  }

  override lookOf(group: number): Look {
    return { text: this.placeOf(group), number: group + 1 };
  }

  override knownLookOf(group: number): Look {
    return this.lookOf(group);
  }

  override knownLabelOf(image: string, truth: number): string {
    return t('vote_known', { image, vote: this.placeOf(truth) });
  }

  override agrees(group: number, truth: number): boolean {
    return group === truth;
  }

  override placeOf(group: number): string {
    return this.campaign.classes[group] ?? '';
  }

  override restOf(group: number): { words: string } {
    return { words: t('rest_votes', { vote: this.placeOf(group) }) };
  }

  override confirmation(): Confirmation | null {
    if (this.left === 0) return null;
    return {
      title: t('unclassified_title'),
      text: t('unclassified_text', { n: this.left }),
      back: 'leftovers_back',
      submit: 'leftovers_submit',
    };
  }

  /** The images that have a class. */
  protected imagesWith(group: number): number[] {
    return this.current.images.filter((image) => this.groupOf(image) === group);
  }

  protected override missingOf(): Missing[] {
    return [];
  }

  protected override canPut(image: number, group: number): boolean {
    return group === LEFT || !this.painted.unseen.has(image);
  }

  protected override get keepsActive(): boolean {
    return true;
  }

  protected override announcementOf(images: string, group: number, left: string): string {
    if (group === LEFT) return t('said_unclassified', { images, left });
    return t('said_vote', { images, left, vote: this.placeOf(group) });
  }

  protected override get saidCleared(): Key {
    return 'said_classes_cleared';
  }

  protected override whereOf(image: string, group: number): string {
    if (group === LEFT) return t('image_unclassified', { image });
    return t('image_vote', { image, vote: this.placeOf(group) });
  }
}
