/** What is typed or ticked as answers to questions, and what is wrong with it. */
import type { AskedQuestion, ReplyIn } from '../api/types';
import type { Notice } from './texts';

/** As typed: texts and numbers as text, points of a scale by their number, several choices as a list. */
export type Typed = string | string[];
export type Answer = ReplyIn['answers'][string];

/** The zeros of the digits that keyboards type. */
const ZEROS = [0x660, 0x6f0];

/** A typed number, in any of the digits of the page's languages; NaN where it is none. */
export function numberOf(typed: string): number {
  let text = typed.replace(/\s/g, '').replace(/[,\u066b]/, '.');
  for (const zero of ZEROS) {
    text = text.replace(/[\u0660-\u0669\u06f0-\u06f9]/g, (digit) => {
      const value = digit.charCodeAt(0) - zero;
      return value >= 0 && value < 10 ? String(value) : digit;
    });
  }
  return /^[-+]?(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : NaN;
}

export function isEmpty(typed: Typed | undefined): boolean {
  return !typed || (typeof typed === 'string' ? typed.trim() : typed).length === 0;
}

/** What is wrong with an answer; null: nothing. */
export function problemOf(question: AskedQuestion, typed: Typed | undefined): Notice | null {
  if (isEmpty(typed)) return question.required ? { key: 'answer_needed' } : null;
  if (question.type !== 'number') return null;
  const number = numberOf(String(typed));
  if (Number.isNaN(number)) return { key: 'number_needed' };
  if (question.whole && !Number.isInteger(number)) return { key: 'whole_needed' };
  const { min, max } = question;
  if (min != null && number < min) return { key: 'at_least', values: { n: min } };
  if (max != null && number > max) return { key: 'at_most', values: { n: max } };
  return null;
}

/** An answer as the server takes it. */
export function answerOf(question: AskedQuestion, typed: Typed): Answer {
  if (question.type === 'number') return numberOf(String(typed));
  return question.type === 'likert' ? Number(typed) : typed;
}
