/** A requester's list of questions: new ones, their keys, and what is still wrong. */
import type { Question } from '../../api/types';

export const MOST = 30;
export const TYPES: Record<Question['type'], string> = {
  choice: 'Choice',
  number: 'Number',
  text: 'Text',
  likert: 'Scale',
};
/** Keys that nobody chose. */
const GIVEN = /^q\d+$/;
const KEY = /^[a-z][a-z0-9_]{0,39}$/;

/** A key that no question has. */
export function freeKey(wish: string, taken: readonly string[]): string {
  const base = wish.slice(0, 36);
  if (!taken.includes(base)) return base;
  let number = 2;
  while (taken.includes(`${base}_${number}`)) number += 1;
  return `${base}_${number}`;
}

/** A key made of a title, for questions whose key nobody chose. */
export function keyFor(question: Question, taken: readonly string[]): string {
  if (!GIVEN.test(question.key)) return question.key;
  const words = question.title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^[_0-9]+|_+$/g, '')
    .slice(0, 24)
    .replace(/_+$/, '');
  return words ? freeKey(words, taken) : question.key;
}

export function newQuestion(type: Question['type'], taken: readonly string[]): Question {
  let number = taken.length + 1;
  while (taken.includes(`q${number}`)) number += 1;
  const common = { key: `q${number}`, title: '', help: '', required: true };
  return ofType(type, common);
}

type Common = Pick<Question, 'key' | 'title' | 'help' | 'required'>;

/** The same question as another type. */
export function ofType(type: Question['type'], { key, title, help, required }: Common): Question {
  const common = { key, title, help, required };
  switch (type) {
    case 'choice':
      return { ...common, type, choices: ['Yes', 'No'], multiple: false, screen_out: [] };
    case 'number':
      return {
        ...common,
        type,
        min: null,
        max: null,
        whole: true,
        screen_out_below: null,
        screen_out_above: null,
      };
    case 'text':
      return { ...common, type, max_length: 500 };
    case 'likert':
      return { ...common, type, points: 5, low_label: '', high_label: '' };
  }
}

/** The choices of a text with one in each line. */
export function choicesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Rules for choices that are there no more are gone with them. */
export function withChoices(question: Question, choices: string[]): Question {
  if (question.type !== 'choice') return question;
  const screen_out = (question.screen_out ?? []).filter((choice) => choices.includes(choice));
  return { ...question, choices, screen_out };
}

export function moved<Item>(list: readonly Item[], from: number, to: number): Item[] {
  const item = list[from];
  if (item === undefined || to < 0 || to >= list.length) return [...list];
  const rest = list.filter((_, index) => index !== from);
  return [...rest.slice(0, to), item, ...rest.slice(to)];
}

/** What keeps a question from being saved, as the server sees it; empty: nothing. */
export function problemOf(question: Question, others: readonly Question[]): string {
  if (!question.title.trim()) return 'Write the question.';
  if (!KEY.test(question.key)) {
    return 'The key needs lower-case letters, digits and _, and begins with a letter.';
  }
  if (others.some(({ key }) => key === question.key)) {
    return `Another question has the key ${question.key}. Every question needs its own.`;
  }
  if (question.type === 'choice') return problemOfChoices(question);
  if (question.type === 'number') return problemOfNumbers(question);
  return '';
}

type Choice = Extract<Question, { type: 'choice' }>;
type Numbers = Extract<Question, { type: 'number' }>;

function problemOfChoices({ choices, screen_out = [] }: Choice): string {
  if (choices.length < 2) return 'Give at least two choices, one in each line.';
  if (choices.length > 50) return 'Give at most 50 choices.';
  if (new Set(choices).size < choices.length) return 'Every choice must be there only once.';
  if (choices.some((choice) => choice.includes(';'))) {
    return 'A choice can’t contain “;”, which separates choices in exports.';
  }
  if (choices.some((choice) => choice.length > 200)) {
    return 'A choice can have at most 200 characters.';
  }
  return screen_out.length === choices.length
    ? 'At least one choice must let people take part.'
    : '';
}

function problemOfNumbers({ min, max, screen_out_below, screen_out_above }: Numbers): string {
  if (min != null && max != null && min > max) return 'The minimum is above the maximum.';
  const isClosed =
    screen_out_below != null && screen_out_above != null && screen_out_below > screen_out_above;
  return isClosed ? 'Nobody could take part: all numbers are screened out.' : '';
}

/** By position: what is wrong with each question of one place, given those of the other. */
export function problemsOf(list: readonly Question[], elsewhere: readonly Question[]): string[] {
  return list.map((question, index) =>
    problemOf(question, [...list.filter((_, other) => other !== index), ...elsewhere]),
  );
}
