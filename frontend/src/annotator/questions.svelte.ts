/** Questions before or after the grids, while they are being answered. */
import { ApiError } from '../api/errors';
import type { AskedQuestion, Questions } from '../api/types';
import { askedQuestions, type Place, sendReply } from './api';
import type { Page } from './page.svelte';
import type { Phase } from './phase';
import { answerOf, isEmpty, problemOf, type Typed } from './questions';
import { sentenceOf } from './sentences';
import type { Notice } from './texts';

export class QuestionRun {
  readonly questions: readonly AskedQuestion[];
  typed: Record<string, Typed> = $state({});
  /** By the keys of the questions. */
  problems: Record<string, Notice> = $state.raw({});
  /** What the server refused. */
  refused = $state('');
  sending = $state(false);
  private readonly key: string;

  constructor(
    private readonly page: Page,
    readonly place: Place,
    { key, questions }: Questions,
  ) {
    this.key = key;
    this.questions = questions;
    this.typed = this.kept();
  }

  set(key: string, typed: Typed): void {
    this.typed[key] = typed;
    // What was wrong is said until the next try.
    this.keep(JSON.stringify(this.typed));
  }

  /** Sends the answers; the key of the first question that has a wrong one instead. */
  async send(): Promise<string | null> {
    if (this.sending) return null;
    const { questions, typed } = this;
    const wrong = questions.flatMap((question) => {
      const problem = problemOf(question, typed[question.key]);
      return problem ? [[question.key, problem] as const] : [];
    });
    this.problems = Object.fromEntries(wrong);
    this.refused = '';
    if (wrong[0]) return wrong[0][0];
    const given = questions.filter(({ key }) => !isEmpty(typed[key]));
    const answers = Object.fromEntries(given.map((q) => [q.key, answerOf(q, typed[q.key]!)]));
    this.sending = true;
    await this.page.attempt(() => this.post(answers));
    this.sending = false;
    return null;
  }

  private async post(answers: Record<string, ReturnType<typeof answerOf>>): Promise<void> {
    try {
      const body = { key: this.key, answers };
      const stage = await this.page.call((token) => sendReply(token, this.place, body));
      this.keep(null);
      await this.page.advance(stage);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 422)) throw error;
      this.refused = sentenceOf(error);
    }
  }

  private get slot(): string {
    return `likewise:questions:${this.place}:${this.page.place}`;
  }

  /** Kept over a reload, and no longer than the tab: others may use the browser. */
  private keep(text: string | null): void {
    try {
      if (text === null) sessionStorage.removeItem(this.slot);
      else sessionStorage.setItem(this.slot, text);
    } catch {
      // Storage may be refused in frames and private windows.
    }
  }

  private kept(): Record<string, Typed> {
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.slot) ?? '{}') as Record<string, Typed>;
      const isList = (question: AskedQuestion) => question.type === 'choice' && question.multiple;
      const fitting = this.questions.filter(
        (question) =>
          question.key in kept && Array.isArray(kept[question.key]) === Boolean(isList(question)),
      );
      return Object.fromEntries(fitting.map(({ key }) => [key, kept[key]!]));
    } catch {
      return {};
    }
  }
}

/** Shows the questions; without any left, after another tab answered them, what comes next. */
export async function ask(page: Page, place: Place): Promise<Phase> {
  const questions = await page.call((token) => askedQuestions(token, place));
  return { name: 'questions', run: new QuestionRun(page, place, questions) };
}
