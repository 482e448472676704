/** One grid being worked on: the grouping, what is done with it, and when. */
import type { AnswerIn, CampaignForAnnotators } from '../api/types';
import { Arrangement, NOTHING, type Subject } from './arrangement.svelte';
import { device } from './device';
import type { Resumed } from './drafts';
import * as grouping from './grouping';
import { type Draft, type Grouping, LEFT } from './grouping';
import { lend } from './piles';
import { extended, type Selection, toggled } from './selection';
import { type Key, t } from './texts';
import { type QuickChoice, Trace, type Untimed } from './trace';

export interface Held {
  readonly shift: boolean;
  /** Ctrl or Cmd. */
  readonly control: boolean;
}

/** Images are put into groups; kinds of task in which that means something else override parts. */
export class Board extends Arrangement {
  private readonly started: number;
  private readonly trace: Trace;
  private anchor: number | null = null;
  private frozen: { of: Grouping; answer: AnswerIn } | null = null;

  constructor(
    campaign: CampaignForAnnotators,
    subject: Subject,
    resumed: Resumed,
    private readonly onChange: (board: Board) => void,
  ) {
    super(campaign, subject, resumed.draft);
    const { images } = this.current;
    this.active = this.firstActive;
    this.started = performance.now() - resumed.elapsed;
    this.trace = new Trace(resumed.trace);
    this.painted.reported = new Set(
      resumed.trace.flatMap((event) => (event[1] === 'b' ? [images[event[2]!]!] : [])),
    );
    this.trace.add(this.elapsed, 'o');
  }

  get elapsed(): number {
    return Math.round(performance.now() - this.started);
  }

  get work(): { draft: Draft; elapsed: number; trace: Trace['events'] } {
    return { draft: this.current, elapsed: this.elapsed, trace: this.trace.events };
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
    const others = [...this.places.slice(at + 1), ...this.places.slice(0, at)];
    return others.find(this.isLeft) ?? image;
  }

  /** The first image that is in no group. */
  get firstLeft(): number | null {
    return this.hasSeveral ? null : (this.places.find(this.isLeft) ?? null);
  }

  private readonly isLeft = (image: number): boolean =>
    this.groupOf(image) === LEFT && !this.selected.has(image) && this.seenOf([image]).length > 0;

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
    this.onChange(this);
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

  /** A click on an image while a group is active. */
  protected mark(image: number, active: number): void {
    this.put([image], this.groupOf(image) === active ? LEFT : active);
  }

  /** The group that is active before anything was done. */
  protected get firstActive(): number | null {
    return 0;
  }

  /** Whether the Escape key leaves the active group as it is. */
  protected get keepsActive(): boolean {
    return false;
  }

  protected get saidCleared(): Key {
    return 'said_cleared';
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

  protected change(next: Grouping, announcement: string, ...event: Untimed): void {
    if (next === this.current) return;
    this.current = next;
    this.trace.add(this.elapsed, ...event);
    if (announcement) this.announcement = announcement;
    this.onChange(this);
  }
}
