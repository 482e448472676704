import { describe, expect, it } from 'vitest';
import { fieldsOf, linesOf, listOf, numberOf, whileRunning } from './schema';

const schema = {
  properties: {
    shares: { type: 'number', minimum: 0, maximum: 1, default: 0.3, title: 'Share' },
    count: { anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }], default: null },
    mode: { type: 'string', enum: ['a', 'b'], labels: { b: 'the other' }, default: 'a' },
    text: { type: 'string', maxLength: 20000 },
    address: { type: 'string', maxLength: 2000 },
    on: { type: 'boolean', default: true },
    measures: { type: 'array', items: { type: 'string', enum: ['warn', 'stop'] } },
    images: { type: 'array', items: { type: 'integer' } },
    countries: { type: 'array', items: { type: 'string', pattern: '^[A-Z]{2}$' } },
    classes: { type: 'array', items: { type: 'string' }, one_per_line: true },
    bonus: { type: 'integer', minimum: 0, unit: 'hundredths of the currency' },
  },
};

describe('fields of a schema', () => {
  it('have the control that fits their type', () => {
    expect(fieldsOf(schema).map(({ name, control }) => [name, control])).toEqual([
      ['shares', 'number'],
      ['count', 'number'],
      ['mode', 'choice'],
      ['text', 'long-text'],
      ['address', 'text'],
      ['on', 'tick'],
      ['measures', 'ticks'],
      ['images', 'hidden'],
      ['countries', 'list'],
      ['classes', 'lines'],
      ['bonus', 'money'],
    ]);
  });

  it('keep ranges, choices and defaults, also of what may be left out', () => {
    const [share, count, mode] = fieldsOf(schema);
    expect(share).toMatchObject({ title: 'Share', minimum: 0, maximum: 1, step: 'any' });
    expect(count).toMatchObject({ title: 'count', minimum: 1, step: 1, fallback: null });
    expect(mode?.choices).toEqual(['a', 'b']);
    expect([mode?.labels, share?.labels]).toEqual([{ b: 'the other' }, {}]);
  });
});

describe('fields of a campaign', () => {
  const campaign = {
    properties: {
      question: { type: 'string', minLength: 1, maxLength: 2000, lines: 2 },
      budget: { type: 'integer', description: 'All answers.', while_running: 'Adds answers.' },
    },
    required: ['question'],
  };

  it('are required where the server has no value of its own', () => {
    const [question, budget] = fieldsOf(campaign);
    expect(question).toMatchObject({ control: 'long-text', lines: 2, minLength: 1 });
    expect([question?.required, budget?.required]).toEqual([true, false]);
  });

  it('are fewer once it has started, with what applies then', () => {
    const [budget, ...others] = fieldsOf(whileRunning(campaign));
    expect(budget).toMatchObject({ name: 'budget', help: 'Adds answers.' });
    expect(others).toEqual([]);
  });
});

describe('a number field', () => {
  it('tells nothing from no number', () => {
    expect([numberOf(' '), numberOf('1.5'), numberOf('1e'), numberOf('0')]).toEqual([
      null,
      1.5,
      undefined,
      0,
    ]);
  });
});

describe('a list field', () => {
  it('takes both commas and blanks', () => {
    expect(listOf(' US, GB;DE  FR ')).toEqual(['US', 'GB', 'DE', 'FR']);
    expect(listOf('')).toEqual([]);
  });
});

describe('a field with a name on each line', () => {
  it('keeps spaces and commas within names', () => {
    expect(linesOf(' big cat \n\ndog, or wolf\n')).toEqual(['big cat', 'dog, or wolf']);
  });
});
