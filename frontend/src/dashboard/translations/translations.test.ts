import { describe, expect, it } from 'vitest';
import { emptyTranslation, namesFor, translationsOf, withName } from './translations';

const CLASSES = ['cat', 'dog'];

describe('names of classes', () => {
  it('are as many as the classes, or none', () => {
    const german = withName(emptyTranslation(), CLASSES, 1, 'Hund');
    expect(german.classes).toEqual(['', 'Hund']);
    expect(withName(german, CLASSES, 1, ' ').classes).toEqual([]);
  });

  it('start empty when there are other classes', () => {
    const german = { ...emptyTranslation(), classes: ['Katze'] };
    expect(namesFor(german, CLASSES)).toEqual(['', '']);
    expect(withName(german, CLASSES, 0, 'Katze').classes).toEqual(['Katze', '']);
  });
});

describe('translations in a form', () => {
  it('are read with what they lack', () => {
    expect(translationsOf('{"de": {"question": "Was?"}}')).toEqual({
      de: { ...emptyTranslation(), question: 'Was?' },
    });
  });

  it('are none where something else was sent', () => {
    expect(translationsOf('"{"')).toEqual({});
    expect(translationsOf('[1]')).toEqual({});
  });
});
