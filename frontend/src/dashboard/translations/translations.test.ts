import { describe, expect, it } from 'vitest';
import { emptyTranslation, translationsOf, withClasses, withName } from './translations';

const CLASSES = ['cat', 'dog'];

describe('names of classes', () => {
  it('belong to classes, wherever these lie', () => {
    const german = withName(emptyTranslation(), CLASSES, 'dog', 'Hund');
    expect(german.classes).toEqual({ dog: 'Hund' });
    expect(withClasses(german, ['dog', 'cat']).classes).toEqual({ dog: 'Hund' });
    expect(withName(german, CLASSES, 'dog', ' ').classes).toEqual({});
  });

  it('go with the class', () => {
    const german = { ...emptyTranslation(), classes: { cat: 'Katze', dog: 'Hund' } };
    expect(withClasses(german, ['cat', 'bird']).classes).toEqual({ cat: 'Katze' });
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
