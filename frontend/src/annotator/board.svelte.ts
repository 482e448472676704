/** One grid being worked on: the grouping, what is chosen, what was done when, what is said. */
import type { AnswerIn, CampaignForAnnotators, LeasedImage } from '../api/types';
import { device } from './device';
import type { Resumed } from './drafts';
import * as grouping from './grouping';
import { type Draft, type Grouping, LEFT, type Missing } from './grouping';
import type { IconName } from './icons';
import type { Look, Mark } from './looks';
import { Painted } from './painted.svelte';
import { lend } from './piles';
import { extended, type Selection, toggled } from './selection';
import { type Key, list, t } from './texts';
import { type QuickChoice, Trace, type Untimed } from './trace';

export const N_COLOURS = 10;
const FEWEST_SHOWN = 5;
const NOTHING: Selection = new Set();

/** What is worked on: a lease, or a practice grid. */
export interface Subject {
  readonly id: string;
  readonly images: readonly LeasedImage[];
  readonly first_colour: number;
  readonly skips_left?: number | null;
}

export interface Held {
  readonly shift: boolean;
  /** Ctrl or Cmd. */
  readonly control: boolean;
}

/** What is asked before submitting images that nothing was done with. */
export interface Confirmation {
  readonly title: string;
  readonly text: string;
  readonly back: Key;
  readonly submit: Key;
}

/** Images are put into groups; kinds of task in which that means something else override parts. */
export class Board {
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

  private readonly started: number;
  private readonly trace: Trace;
  private anchor: number | null = null;
  private frozen: { of: Grouping; answer: AnswerIn } | null = null;

  constructor(
    readonly campaign: CampaignForAnnotators,
    readonly subject: Subject,
    resumed: Resumed,
    private readonly onChange: (board: Board) => void,
  ) {
    const images = subject.images.map(({ image }) => image);
    this.required = campaign.descriptions === 'required';
    this.describes = campaign.descriptions !== 'none';
    this.current = grouping.fromDraft(
      images,
      campaign.max_groups,
      resumed.draft,
      this.limitOf(campaign),
    );
    this.pictures = images.map(() => undefined);
    this.painted = new Painted(images);
    this.active = this.firstActive;
    this.started = performance.now() - resumed.elapsed;
    this.trace = new Trace(resumed.trace);
    this.painted.reported = new Set(
      resumed.trace.flatMap((event) => (event[1] === 'b' ? [images[event[2]!]!] : [])),
    );
    this.trace.add(this.elapsed, 'o');
  }

  /** Images in the order in which they lie. */
  get places(): readonly number[] {
    return this.current.images;
  }

  get elapsed(): number {
    return Math.round(performance.now() - this.started);
  }

  get work(): { draft: Draft; elapsed: number; trace: Trace['events'] } {
    return { draft: this.current, elapsed: this.elapsed, trace: this.trace.events };
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

  /** A click, tap or Enter on an image. */
  click(image: number, held: Held): void {
    if (held.shift) this.choose(extended(this.selected, this.current.images, this.anchor, image));
    else if (held.control || this.selected.size > 0 || this.active === null) {
      this.choose(toggled(this.selected, image));
    } else this.mark(image, this.active);
    this.anchor = image;
  }

  choose(selected: Selection): void {
    this.selected = selected;
    if (selected.size > 0) this.announcement = t('count_selected', { n: selected.size });
  }

  chooseLeft(): void {
    this.choose(new Set(grouping.imagesOf(this.current, LEFT)));
  }

  /** A click on a group, or its key: takes the chosen images, else becomes the active one. */
  sendTo(group: number, focused: number | null = null): void {
    const images = this.selected.size > 0 ? [...this.selected] : focused !== null ? [focused] : [];
    if (images.length > 0) this.put(images, group);
    if (group !== LEFT && this.activates(images.length)) this.active = group;
  }

  put(chosen: readonly number[], group: number): void {
    const images = chosen.filter((image) => this.canPut(image, group));
    const next = grouping.assign(this.current, images, group);
    this.selected = NOTHING;
    const what = images.length === 1 ? this.nameOf(images[0]!) : this.counted(images.length);
    const announcement = this.announcementOf(what, group, this.leftIn(next));
    const indices = images.map((image) => this.current.images.indexOf(image));
    this.change(next, announcement, 'p', group, ...indices);
  }

  /** All images that are in no group, into this one. */
  rest(group: number): void {
    this.put(this.seenOf(grouping.imagesOf(this.current, LEFT)), group);
  }

  /** All images of a group, into another one: in one step, its words included. */
  merge(from: number, into: number): void {
    this.put(grouping.imagesOf(this.current, from), into);
    this.change(lend(this.current, from, into), '', 'd', into);
    if (this.active === from) this.active = into;
  }

  escape(focused: number | null): void {
    if (this.selected.size > 0) this.selected = NOTHING;
    else if (focused !== null && this.groupOf(focused) !== LEFT) this.put([focused], LEFT);
    else if (!this.keepsActive) this.active = null;
  }

  /** Where the keyboard goes on once this image was sent somewhere: to the next one that is in no
   * group, from this one on and then from the first. */
  nextAfter(image: number): number {
    if (this.hasSeveral) return image;
    const at = this.places.indexOf(image);
    const isLeft = (other: number) =>
      this.groupOf(other) === LEFT && !this.selected.has(other) && this.seenOf([other]).length > 0;
    const others = [...this.places.slice(at + 1), ...this.places.slice(0, at)];
    return others.find(isLeft) ?? image;
  }

  clear(): void {
    this.change(grouping.clear(this.current), t(this.saidCleared), 'c');
  }

  undo(): void {
    const next = grouping.undo(this.current);
    this.change(next, t('said_undone', { left: this.leftIn(next) }), 'u');
  }

  redo(): void {
    const next = grouping.redo(this.current);
    this.change(next, t('said_redone', { left: this.leftIn(next) }), 'r');
  }

  describe(group: number, text: string): void {
    this.change(grouping.describe(this.current, group, text), '', 'd', group);
  }

  /** What another window or device made of the same grid. */
  takeOver(draft: Draft): void {
    const next = grouping.replaced(this.current, draft);
    if (next.groups !== this.current.groups) {
      this.trace.add(this.elapsed, 's', ...next.groups);
      this.announcement = t('said_remote');
    }
    this.current = next;
  }

  reportBroken(image: number): void {
    this.painted.reported = new Set([...this.painted.reported, image]);
    this.trace.add(this.elapsed, 'b', this.current.images.indexOf(image));
    if (this.groupOf(image) !== LEFT) this.put([image], LEFT);
    else this.onChange(this);
    this.announcement = t('reported', { image: this.nameOf(image) });
  }

  note(event: 'h' | 'v'): void {
    this.trace.add(this.elapsed, event);
  }

  /** Whether it was asked about the time of this grid, here or before the page was opened again. */
  get wasQuick(): boolean {
    return this.trace.events.some((event) => event[1] === 'q');
  }

  noteQuick(choice: QuickChoice): void {
    this.trace.add(this.elapsed, 'q', choice);
  }

  noteLarge(image: number): void {
    this.trace.add(this.elapsed, 'z', this.current.images.indexOf(image));
  }

  /** The same body for the same grouping, so that a repeated submission is a repetition. */
  answer(): AnswerIn {
    const unseen = this.painted.unseenNow;
    const known = this.frozen?.of === this.current ? this.frozen.answer : null;
    if (known?.unseen?.join() !== unseen.join()) {
      const answer = {
        ...grouping.toAnswer(grouping.assign(this.current, unseen, LEFT)),
        ...this.groupsOf(this.current),
        elapsed_ms: this.elapsed,
        trace: [...this.trace.events],
        device: device(this.campaign.languages.question.lang ?? ''),
        unseen,
        next: true,
      };
      this.frozen = { of: this.current, answer };
    }
    return this.frozen!.answer;
  }

  /** Images are named by their place in the grid. */
  nameOf(image: number): string {
    return t('image', { n: this.current.images.indexOf(image) + 1 });
  }

  /** The name with the requester's description, for those who do not see the image. */
  describedNameOf(image: number): string {
    const text = this.subject.images.find((one) => one.image === image)?.alt_text;
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

  /** A click on an image while a group is active. */
  protected mark(image: number, active: number): void {
    this.put([image], this.groupOf(image) === active ? LEFT : active);
  }

  /** How many group numbers there are. */
  protected limitOf(campaign: CampaignForAnnotators): number {
    return campaign.max_groups;
  }

  /** The group that is active before anything was done. */
  protected get firstActive(): number | null {
    return 0;
  }

  /** What a group is called. */
  protected get noun(): Key {
    return 'group';
  }

  /** Whether the Escape key leaves the active group as it is. */
  protected get keepsActive(): boolean {
    return false;
  }

  protected get saidCleared(): Key {
    return 'said_cleared';
  }

  protected missingOf(): Missing[] {
    const seen = grouping.assign(this.current, [...this.painted.unseen], LEFT);
    const isHopeless = this.seenOf(seen.images).length < 2;
    return isHopeless ? [] : grouping.missing(seen, this.required);
  }

  protected seenOf(images: readonly number[]): number[] {
    return images.filter((image) => !this.painted.unseen.has(image));
  }

  /** Whether a group into which `nImages` were sent becomes the active one. */
  protected activates(_nImages: number): boolean {
    return true;
  }

  protected canPut(_image: number, _group: number): boolean {
    return true;
  }

  /** Groups as submitted, where they differ from those shown. */
  protected groupsOf(_next: Grouping): Partial<Pick<AnswerIn, 'groups'>> {
    return {};
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

  private leftOf(next: Grouping): number {
    return this.seenOf(grouping.imagesOf(next, LEFT)).length;
  }

  /** What is still to be done. */
  protected leftIn(next: Grouping): string {
    const n = this.leftOf(next);
    return n === 0 && !this.painted.failed.length ? t('none_left') : t('left', { n });
  }

  protected change(next: Grouping, announcement: string, ...event: Untimed): void {
    if (next === this.current) return;
    this.current = next;
    this.trace.add(this.elapsed, ...event);
    if (announcement) this.announcement = announcement;
    this.onChange(this);
  }
}

function letterOf(truth: number): string {
  return String.fromCharCode(65 + truth);
}
