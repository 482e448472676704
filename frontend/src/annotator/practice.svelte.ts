/** Practice: grids with a known answer, and what the annotator is told about theirs. */
import type { CampaignForAnnotators, Practice, PracticeFeedback } from '../api/types';
import { currentPractice, tryPractice } from './api';
import type { Board } from './board.svelte';
import { newBoard } from './kinds';
import type { Page } from './page.svelte';
import { recover } from './painter';
import type { Phase } from './phase';

const NOT_STARTED = { draft: null, version: 0, elapsed: 0, trace: [] };

export class PracticeRun {
  readonly board: Board;
  readonly number: number;
  feedback: PracticeFeedback | null = $state.raw(null);
  checking = $state(false);
  private tries: number;

  constructor(
    private readonly page: Page,
    campaign: CampaignForAnnotators,
    practice: Practice,
  ) {
    this.number = practice.number;
    this.tries = practice.tries;
    const subject = { id: `practice-${practice.number}`, images: practice.images, first_colour: 0 };
    // Words are not compared with anything, so they are not asked for here.
    const practised = { ...campaign, descriptions: 'none' as const, quick_pause: 0 };
    this.board = newBoard(practised, subject, NOT_STARTED, () => {});
    this.board.pictures = practice.images.map(({ url }) => url);
  }

  /** The known group of an image, once the annotator may see it. */
  truthOf(image: number): number | null {
    if (this.feedback === null || this.feedback.passed) return null;
    return this.feedback.truth[this.board.current.images.indexOf(image)] ?? null;
  }

  get isOver(): boolean {
    const done = this.feedback?.state.practice.done ?? 0;
    return this.feedback !== null && done > this.number;
  }

  async check(): Promise<void> {
    const { images, groups } = this.board.answer();
    this.checking = true;
    await this.page.attempt(async () => {
      // Sent again after a lost reply, it is the same try still.
      const body = { images, groups, number: this.number, tries: this.tries };
      const feedback = await this.page.call((token) => tryPractice(token, body));
      this.tries += 1;
      if (feedback.state.stage === 'screened_out') await this.page.advance(feedback.state);
      else this.feedback = feedback;
    });
    this.checking = false;
  }

  /** Tries once more, or goes on. */
  async proceed(): Promise<void> {
    const state = this.feedback?.state;
    if (state && this.isOver) await this.page.attempt(() => this.page.advance(state));
    else this.feedback = null;
  }
}

/** Shows the next practice grid. */
export async function practise(page: Page): Promise<Phase> {
  const practice = await page.call(currentPractice);
  const run = new PracticeRun(page, page.session!.campaign, practice);
  void recover(run.board, () => page.phase.name === 'practice' && page.phase.run === run);
  return { name: 'practice', run };
}
