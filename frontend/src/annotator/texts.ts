/** Texts of the page in the annotator's language; the page brings them along (app/messages). */
import type english from '../../../app/messages/en.json';

export type Key = keyof typeof english;
type Plural = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };
export type Messages = Record<Key, string | Plural>;
export type Values = Record<string, string | number>;

interface Texts {
  language: string;
  languages: Record<string, string>;
  messages: Messages;
}

let texts: Texts = { language: 'en', languages: {}, messages: {} as Messages };

/** Reads the texts that the server put into the page. */
export function readTexts(element: Element | null): void {
  if (element?.textContent) texts = JSON.parse(element.textContent) as Texts;
}

export function language(): string {
  return texts.language;
}

/** Languages to choose from: code and own name. */
export function languages(): [string, string][] {
  return Object.entries(texts.languages);
}

/** The text for a key, with {placeholders} filled in; `n` chooses the plural form. */
/** A sentence to show: its key and what is filled in. */
export interface Notice {
  key: Key;
  values?: Values;
}

export function t(key: Key, values: Values = {}): string {
  return fill(texts.messages[key] ?? key, values, texts.language);
}

export function fill(message: string | Plural, values: Values, locale: string): string {
  const numbers = new Intl.NumberFormat(locale);
  const form =
    typeof message === 'string'
      ? message
      : (message[new Intl.PluralRules(locale).select(Number(values['n']))] ?? message.other);
  return form.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === 'number' ? numbers.format(value) : value;
  });
}

/** A number as the language writes it. */
export function formatted(n: number): string {
  return new Intl.NumberFormat(texts.language).format(n);
}

/** Several things in one sentence: "1, 2 and 3". */
export function list(items: readonly string[]): string {
  return new Intl.ListFormat(texts.language).format(items);
}

export function percent(part: number): string {
  return new Intl.NumberFormat(texts.language, { style: 'percent' }).format(part);
}

export function money(cents: number, currency: string): string {
  return new Intl.NumberFormat(texts.language, { style: 'currency', currency }).format(cents / 100);
}

export function isRightToLeft(): boolean {
  return document.documentElement.dir === 'rtl';
}
