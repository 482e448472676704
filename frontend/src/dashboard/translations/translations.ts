/** The requester's texts in other languages. */
import type { Translation } from '../../api/types';

export type Translations = Readonly<Record<string, Translation>>;
export type TextName = 'question' | 'consent' | 'instructions' | 'thanks' | 'screen_out_text';

/** What a campaign's texts are in the requester's own language. */
export type OwnTexts = Readonly<Record<TextName, string>> & { readonly classes: readonly string[] };

export const FIELDS: readonly { name: TextName; title: string; maximum: number; rows: number }[] = [
  { name: 'question', title: 'Question', maximum: 2000, rows: 2 },
  { name: 'consent', title: 'Consent text', maximum: 20_000, rows: 4 },
  { name: 'instructions', title: 'Instructions', maximum: 20_000, rows: 4 },
  { name: 'thanks', title: 'Thank-you text', maximum: 20_000, rows: 3 },
  {
    name: 'screen_out_text',
    title: 'Text for people who are screened out',
    maximum: 20_000,
    rows: 3,
  },
];
export const MOST = 20;
const RIGHT_TO_LEFT = new Set(['ar', 'fa', 'he', 'ur']);

export function emptyTranslation(): Translation {
  return {
    question: '',
    consent: '',
    instructions: '',
    thanks: '',
    screen_out_text: '',
    classes: [],
  };
}

export function directionOf(language: string): 'ltr' | 'rtl' {
  return RIGHT_TO_LEFT.has(language) ? 'rtl' : 'ltr';
}

/** Names by class; none at all where they are not as many as the classes. */
export function namesFor(translation: Translation, classes: readonly string[]): string[] {
  const { classes: names = [] } = translation;
  return names.length === classes.length ? names : classes.map(() => '');
}

/** With another name of one class; none are kept where all are empty. */
export function withName(
  translation: Translation,
  classes: readonly string[],
  index: number,
  name: string,
): Translation {
  const names = namesFor(translation, classes).with(index, name);
  return { ...translation, classes: names.some((text) => text.trim()) ? names : [] };
}

/** What a form's data say; what cannot be read is named in the page's own message. */
export function translationsOf(text: string): Translations {
  const read: unknown = JSON.parse(text);
  if (typeof read !== 'object' || read === null || Array.isArray(read)) return {};
  const known = Object.entries(read as Record<string, Partial<Translation>>);
  return Object.fromEntries(
    known.map(([code, translation]) => [code, { ...emptyTranslation(), ...translation }]),
  );
}
