import type { AnswerIn } from '../../../api/types';
import type { Confirmation } from '../../arrangement.svelte';
import { Board } from '../../board.svelte';
import type { Choice, Look } from '../../looks';
import { type Grouping, LEFT, type Missing } from '../../grouping';
import { type Key, language, t } from '../../texts';
import { countVotes, NO, VOTES, votesOf, YES } from './votes';

/** Groups are votes: an image without one counts as no. */
export class VoteBoard extends Board {
  override readonly showsCounts = true;
  override readonly clearLabel: Key = 'clear_votes';
  override readonly chosenIcon = 'chosen';
  /** How many images there are of each vote; those without one count as no. */
  readonly counts = $derived.by(() => countVotes(this.current, this.painted.unseen));
  readonly choices = $derived.by<Choice[]>(() =>
    VOTES.map(({ icon, colour }, vote) => ({
      name: this.placeOf(vote),
      icon,
      colour,
      count: this.counts[vote] ?? 0,
    })),
  );

  override colourOf(group: number): string {
    return VOTES[group]!.colour;
  }

  override lookOf(group: number): Look {
    return { icon: VOTES[group]!.icon };
  }

  override knownLookOf(group: number): Look {
    return this.lookOf(group);
  }

  override isPressed(group: number): boolean {
    return group === YES;
  }

  override agrees(group: number, truth: number): boolean {
    return truth === (group < 0 ? NO : group);
  }

  override knownLabelOf(image: string, truth: number): string {
    return t('vote_known', { image, vote: this.voteOf(truth) });
  }

  override placeOf(group: number): string {
    return t(VOTES[group]!.name);
  }

  override restOf(group: number): { words: string } {
    return { words: t('rest_votes', { vote: this.voteOf(group) }) };
  }

  override confirmation(): Confirmation | null {
    if (this.left === 0 || !this.isUntouched) return null;
    return {
      title: t('untouched_title'),
      text: t('untouched_text'),
      back: 'untouched_back',
      submit: 'untouched_submit',
    };
  }

  protected override missingOf(): Missing[] {
    return [];
  }

  /** A vote on an image says nothing about the next one: clicks and Enter still tick. */
  protected override activates(nImages: number): boolean {
    return nImages === 0;
  }

  /** What cannot be seen cannot be voted on. */
  protected override canPut(image: number, group: number): boolean {
    return group === LEFT || !this.painted.unseen.has(image);
  }

  protected override get keepsActive(): boolean {
    return true;
  }

  protected override groupsOf(next: Grouping): Pick<AnswerIn, 'groups'> {
    return { groups: votesOf(next, this.painted.unseen) };
  }

  protected override announcementOf(images: string, group: number, left: string): string {
    if (group === LEFT) return t('said_unvoted', { images, left });
    return t('said_vote', { images, left, vote: this.voteOf(group) });
  }

  protected override get saidCleared(): Key {
    return 'said_unvoted_all';
  }

  protected override whereOf(image: string, group: number): string {
    if (group === LEFT) return t('image_unticked', { image });
    return t('image_vote', { image, vote: this.voteOf(group) });
  }

  protected override leftIn(next: Grouping): string {
    const [yes = 0, no = 0, unsure = 0] = countVotes(next, this.painted.unseen);
    return t('vote_counts', { yes, no, unsure });
  }

  /** A vote within a sentence. */
  private voteOf(group: number): string {
    return this.placeOf(group).toLocaleLowerCase(language());
  }
}
