/** A grid as it stands: which image is in which group, and what everything is called. */
import type { CampaignForAnnotators, LeasedImage } from '../api/types';
import * as grouping from './grouping';
import { type Draft, type Grouping, LEFT, type Missing } from './grouping';
import type { IconName } from './icons';
import type { Look, Mark } from './looks';
import { Painted } from './painted.svelte';
import type { Selection } from './selection';
import { type Key, list, t } from './texts';

export const N_COLOURS = 10;
const FEWEST_SHOWN = 5;
export const NOTHING: Selection = new Set();

/** What is worked on: a lease, or a practice grid. */
export interface Subject {
  readonly id: string;
  readonly images: readonly LeasedImage[];
  readonly first_colour: number;
  readonly skips_left?: number | null;
}

/** What is asked before submitting images that nothing was done with. */
export interface Confirmation {
  readonly title: string;
  readonly text: string;
  readonly back: Key;
  readonly submit: Key;
}

/** Groups have numbers; kinds of task in which they mean something else override parts. */
export class Arrangement {
  /** Whether what is in each group is shown next to the button at any time. */
  readonly showsCounts: boolean = false;
  readonly clearLabel: Key = 'clear';
  /** Whether an image can have several groups at once. */
  readonly hasSeveral: boolean = false;
  /** On images that are chosen. */
  readonly chosenIcon: IconName = 'check';
  /** Addresses of the pictures in the grid's order; undefined while they are on their way. */
  pictures: readonly (string | undefined)[] = $state.raw([]);
  readonly painted: Painted;
  current: Grouping = $state.raw(grouping.emptyGrouping([], 0));
  selected: Selection = $state.raw(NOTHING);
  /** The group that a click on an image puts it in; null: clicks choose images. */
  active: number | null = $state(null);
  /** The group whose words are asked for, where there is room for one group only. */
  asked: number | null = $state(null);
  announcement = $state('');

  readonly required: boolean;
  readonly describes: boolean;
  readonly missing = $derived.by(() => this.missingOf());
  readonly isUntouched = $derived.by(() => grouping.usedGroups(this.current).length === 0);
  /** Images still to be sorted; what cannot be seen need not be. */
  readonly left = $derived(this.leftOf(this.current));
  /** How many groups are offered: a few, and more as they are used. */
  readonly offered = $derived.by(() => {
    const all = this.current.descriptions.length;
    const used = Math.max(-1, ...grouping.usedGroups(this.current), this.active ?? -1) + 1;
    return used < FEWEST_SHOWN ? Math.min(all, FEWEST_SHOWN) : all;
  });

  constructor(
    readonly campaign: CampaignForAnnotators,
    readonly subject: Subject,
    draft: Draft | null,
  ) {
    const images = subject.images.map(({ image }) => image);
    this.required = campaign.descriptions === 'required';
    this.describes = campaign.descriptions !== 'none';
    this.current = grouping.fromDraft(images, campaign.max_groups, draft, this.limitOf(campaign));
    this.pictures = images.map(() => undefined);
    this.painted = new Painted(images);
  }

  /** Images in the order in which they lie. */
  get places(): readonly number[] {
    return this.current.images;
  }

  groupOf(image: number): number {
    return grouping.groupOf(this.current, image);
  }

  /** Name of a group's colour: colours change places from grid to grid. */
  colourOf(group: number): number | string {
    return (group + this.subject.first_colour) % N_COLOURS;
  }

  lookOf(group: number): Look {
    return { text: String(group + 1) };
  }

  /** What an image in this group shows; several marks where a group stands for several things. */
  marksOf(group: number): readonly Mark[] {
    return [{ look: this.lookOf(group), colour: this.colourOf(group) }];
  }

  /** Known groups have letters, since numbers are the annotator's own. */
  knownLookOf(truth: number): Look {
    return { text: letterOf(truth) };
  }

  knownMarksOf(truth: number): readonly Mark[] {
    return [{ look: this.knownLookOf(truth), colour: this.colourOf(truth) }];
  }

  /** Whether an image in this group looks pressed, as a button. */
  isPressed(group: number): boolean {
    return group >= 0;
  }

  /** As expected: what was judged otherwise stands out. */
  agrees(_group: number, _truth: number): boolean {
    return false;
  }

  /** Images are named by their place in the grid. */
  nameOf(image: number): string {
    return t('image', { n: this.current.images.indexOf(image) + 1 });
  }

  /** The name with the requester's description, for those who do not see the image. */
  describedNameOf(image: number): string {
    const text = this.subject.images.find((shown) => shown.image === image)?.alt_text;
    const name = this.nameOf(image);
    return text ? t('image_described', { image: name, text }) : name;
  }

  placeOf(group: number): string {
    return t('place', { noun: t(this.noun), n: group + 1 });
  }

  /** What a button says that puts all images that are left into a group. */
  restOf(group: number): { words: string; title?: string; label?: string } {
    const words = t('rest_short');
    return { words, title: t('rest'), label: `${words}: ${this.placeOf(group)}` };
  }

  /** What is asked before submitting; null: nothing. */
  confirmation(asksAboutLeftovers: boolean): Confirmation | null {
    if (this.left === 0 || !asksAboutLeftovers) return null;
    return {
      title: `${t('leftovers_title')}.`,
      text: t('leftovers_text', { n: this.left }),
      back: 'leftovers_back',
      submit: 'leftovers_submit',
    };
  }

  counted(n: number): string {
    return t('count_images', { n });
  }

  labelOf(image: number, name = this.nameOf(image)): string {
    const group = this.groupOf(image);
    const where = this.whereOf(name, group);
    const more = [
      ...(this.selected.has(image) ? [t('selected')] : []),
      ...(this.painted.unseen.has(image) ? [t('broken')] : []),
    ];
    return [where, ...more].join(', ');
  }

  /** What a screen reader says of an image whose known group is shown; `image`: without it. */
  knownLabelOf(image: string, truth: number): string {
    return t('image_known', { image, letter: letterOf(truth) });
  }

  /** What is shown next to the button: how much is left, or what is chosen. */
  get state(): string {
    if (this.selected.size > 0) return t('count_selected', { n: this.selected.size });
    return this.leftIn(this.current);
  }

  /** What is still to be done before submitting, in one sentence; empty when nothing is. */
  get missingSentence(): string {
    if (this.missing.some((item) => item.kind === 'images')) return t('missing_images');
    const groups = this.missing.flatMap((item) =>
      item.kind === 'description' ? [String(item.group + 1)] : [],
    );
    return groups.length ? t('missing_words', { n: groups.length, groups: list(groups) }) : '';
  }

  /** How many group numbers there are. */
  protected limitOf(campaign: CampaignForAnnotators): number {
    return campaign.max_groups;
  }

  /** What a group is called. */
  protected get noun(): Key {
    return 'group';
  }

  protected missingOf(): Missing[] {
    const seen = grouping.assign(this.current, [...this.painted.unseen], LEFT);
    const isHopeless = this.seenOf(seen.images).length < 2;
    return isHopeless ? [] : grouping.missing(seen, this.required);
  }

  protected seenOf(images: readonly number[]): number[] {
    return images.filter((image) => !this.painted.unseen.has(image));
  }

  protected announcementOf(images: string, group: number, left: string): string {
    if (group === LEFT) return t('said_left', { images, left });
    return t('said_put', { images, left, place: this.placeOf(group) });
  }

  protected whereOf(image: string, group: number): string {
    if (group === LEFT) return t('image_left', { image });
    const words = this.current.descriptions[group]?.trim() ?? '';
    const place = this.placeOf(group);
    return t(words ? 'image_in_described' : 'image_in', { image, place, words });
  }

  protected leftOf(next: Grouping): number {
    return this.seenOf(grouping.imagesOf(next, LEFT)).length;
  }

  /** What is still to be done. */
  protected leftIn(next: Grouping): string {
    const n = this.leftOf(next);
    return n === 0 && !this.painted.failed.length ? t('none_left') : t('left', { n });
  }
}

function letterOf(truth: number): string {
  return String.fromCharCode(65 + truth);
}
