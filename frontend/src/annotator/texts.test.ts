import { describe, expect, it } from 'vitest';
import { fill, type Messages } from './texts';

const files = import.meta.glob<Messages>('../../../app/messages/*.json', {
  eager: true,
  import: 'default',
});
const catalogues = Object.fromEntries(
  Object.entries(files).map(([path, messages]) => [path.replace(/^.*\/|\.json$/g, ''), messages]),
);
const placeholders = (text: string) => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();
const forms = (message: Messages[keyof Messages]) =>
  typeof message === 'string' ? [message] : Object.values(message);

describe('fill', () => {
  it('chooses the plural form and writes numbers as the language does', () => {
    const message = { one: '{n} Bild', other: '{n} Bilder' };
    expect(fill(message, { n: 1 }, 'de')).toBe('1 Bild');
    expect(fill(message, { n: 1200 }, 'de')).toBe('1.200 Bilder');
    expect(fill({ two: 'صورتان', other: '{n} صورة' }, { n: 2 }, 'ar')).toBe('صورتان');
  });

  it('leaves a placeholder without a value in sight', () => {
    expect(fill('{a} and {b}', { a: 'x' }, 'en')).toBe('x and {b}');
  });
});

describe.each(Object.keys(catalogues))('catalogue %s', (code) => {
  const english = catalogues['en']!;
  const other = catalogues[code]!;

  it('has the keys of the English one', () => {
    expect(Object.keys(other).sort()).toEqual(Object.keys(english).sort());
  });

  it('has every plural form of its language', () => {
    const needed = new Intl.PluralRules(code).resolvedOptions().pluralCategories;
    for (const [key, message] of Object.entries(other)) {
      if (typeof message === 'string' || key === 'missing_words') continue;
      // None of these sentences counts nothing; the groups in `missing_words` are numbers in a list.
      const missing = needed.filter((form) => !(form in message) && form !== 'zero');
      expect({ key, missing }).toEqual({ key, missing: [] });
    }
  });

  it('fills in the same things', () => {
    for (const [key, message] of Object.entries(other)) {
      const wanted = placeholders(forms(english[key as keyof Messages]).join(' '));
      expect({ key, names: placeholders(forms(message).join(' ')) }).toEqual({
        key,
        names: wanted,
      });
    }
  });
});

const sources = import.meta.glob<string>(['./**/*.svelte', './**/*.ts', '!./**/*.test.ts'], {
  eager: true,
  import: 'default',
  query: '?raw',
});

/** Platforms name the text that says how to begin there. */
const specs = import.meta.glob<string>('../../../app/recruitment/channels/*/spec.py', {
  eager: true,
  import: 'default',
  query: '?raw',
});

describe('the components', () => {
  it.each(Object.keys(sources).filter((path) => path.endsWith('.svelte')))(
    '%s says nothing outside the catalogues',
    (path) => {
      const markup = sources[path]!.replace(
        /<script[\s\S]*?<\/script>|<style[\s\S]*?<\/style>|<!--[\s\S]*?-->/g,
        '',
      )
        .replace(/\(Ctrl[^)]*\)/g, '')
        .replace(/\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}/g, '');
      const words = markup.replace(/<(?:[^<>"]|"[^"]*")*>/g, ' ').match(/\p{Letter}{2,}/gu) ?? [];
      const attributes =
        markup.match(/(?:aria-label|title|placeholder|alt)="[^"]*\p{Letter}[^"]*"/gu) ?? [];
      expect([...words, ...attributes]).toEqual([]);
    },
  );

  it('use every text, and no other', () => {
    const all = [...Object.values(sources), ...Object.values(specs)].join('\n');
    const known = Object.keys(catalogues['en']!).filter((key) => key !== 'language');
    // `practice_good` and its like are put together; the server writes `noscript` and `bad_link_…`.
    const built = /^practice_(good|bad|over)(_text)?$|^noscript$|^bad_link_/;
    const isUsed = (key: string) => all.includes(`'${key}'`) || all.includes(`"${key}"`);
    const unused = known.filter((key) => !built.test(key) && !isUsed(key));
    expect(unused).toEqual([]);
  });
});

it('the example does not deny that a star has corners', () => {
  const corners = Object.values(catalogues).map((messages) => messages['example_corners']);
  expect(corners).toEqual(
    expect.arrayContaining(['with four corners', 'mit vier Ecken', 'ذو أربع زوايا']),
  );
  expect(catalogues['en']?.['example_label']).toContain('squares in another, called “with four');
});
