/** One grid being worked on: the grouping, what was done when, and what is said about it. */
import type { AnswerIn, CampaignForAnnotators, Lease } from '../api/types';
import type { Resumed } from './drafts';
import * as grouping from './grouping';
import { LEFT, type Grouping } from './grouping';

const LONGEST_TRACE = 5000;

export class Board {
  readonly lease: Lease;
  readonly campaign: CampaignForAnnotators;
  /** Name of a group on this kind of task. */
  readonly noun: 'Group' | 'Bin';
  current: Grouping = $state.raw(grouping.emptyGrouping([], 0));
  active = $state(0);
  announcement = $state('');

  readonly missing = $derived.by(() =>
    grouping.missing(this.current, this.campaign.descriptions_required),
  );
  readonly left = $derived(grouping.countLeft(this.current));

  private readonly started: number;
  private readonly trace: unknown[] = [];
  private frozen: { of: Grouping; answer: AnswerIn } | null = null;

  constructor(
    campaign: CampaignForAnnotators,
    lease: Lease,
    resumed: Resumed,
    private readonly onChange: (board: Board) => void,
  ) {
    this.campaign = campaign;
    this.lease = lease;
    this.noun = campaign.kind === 'bins' ? 'Bin' : 'Group';
    const images = lease.images.map(({ image }) => image);
    this.current = grouping.fromDraft(images, campaign.max_groups, resumed.draft);
    this.started = performance.now() - resumed.elapsed;
  }

  get elapsed(): number {
    return Math.round(performance.now() - this.started);
  }

  groupOf(image: number): number {
    return grouping.groupOf(this.current, image);
  }

  put(image: number, group: number): void {
    const next = grouping.assign(this.current, image, group);
    if (next === this.current) return;
    const event = group === LEFT ? 'unassign' : 'assign';
    const place = group === LEFT ? 'left over' : `in ${this.noun.toLowerCase()} ${group + 1}`;
    this.change(next, [event, image, group], `${this.nameOf(image)} ${place}.`);
  }

  /** Into the group, or out of it where the image is in it already. */
  toggle(image: number, group: number): void {
    this.put(image, this.groupOf(image) === group ? LEFT : group);
  }

  clear(): void {
    this.change(grouping.clear(this.current), ['clear', null, null], 'All images left over.');
  }

  undo(): void {
    this.change(grouping.undo(this.current), ['undo', null, null], 'Undone.');
  }

  redo(): void {
    this.change(grouping.redo(this.current), ['redo', null, null], 'Done again.');
  }

  describe(group: number, text: string): void {
    const next = grouping.describe(this.current, group, text);
    if (next === this.current) return;
    this.current = next;
    this.onChange(this);
  }

  /** The same body for the same grouping, so that a repeated submission is a repetition. */
  answer(): AnswerIn {
    if (this.frozen?.of !== this.current) {
      const answer = {
        ...grouping.toAnswer(this.current),
        elapsed_ms: this.elapsed,
        trace: [...this.trace],
      };
      this.frozen = { of: this.current, answer };
    }
    return this.frozen.answer;
  }

  /** Images are named by their place in the grid. */
  nameOf(image: number): string {
    return `Image ${this.current.images.indexOf(image) + 1}`;
  }

  labelOf(image: number): string {
    const group = this.groupOf(image);
    if (group === LEFT) return `${this.nameOf(image)}, left over`;
    const description = this.current.descriptions[group]?.trim();
    const place = `in ${this.noun.toLowerCase()} ${group + 1}`;
    return `${this.nameOf(image)}, ${place}${description ? ` (${description})` : ''}`;
  }

  private change(next: Grouping, event: unknown[], said: string): void {
    if (next === this.current) return;
    this.current = next;
    if (this.trace.length < LONGEST_TRACE) this.trace.push([this.elapsed, ...event]);
    this.announcement = `${said} ${this.left} left.`;
    this.onChange(this);
  }
}
