import { describe, expect, it } from 'vitest';
import { amountProblem, numberProblem, percentOf, shareOf, textProblem } from './problems';
import { fieldsOf } from './schema';

const [share, count, target, name] = fieldsOf({
  properties: {
    share: { type: 'number', minimum: 0, maximum: 0.5, title: 'Share of repeats', unit: 'share' },
    count: { type: 'integer', minimum: 1, maximum: 1_000_000, title: 'Budget (answers)' },
    target: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1, title: 'Target' },
    name: { type: 'string', minLength: 1, maxLength: 200, title: 'Campaign name' },
  },
  required: ['count', 'name'],
}) as [never, never, never, never];

describe('an amount that cannot be saved', () => {
  const reward = { label: 'Reward', currency: 'USD', maximum: 10_000_000 };

  it('is said in words of the page', () => {
    expect(amountProblem('100001', reward)).toBe('Reward: at most $100,000.');
    expect(amountProblem('0.05', { ...reward, minimum: 10 })).toBe('Reward: at least $0.10.');
    expect(amountProblem('', reward)).toBe('Reward: enter an amount such as 1.50, or 0 for none.');
    expect(amountProblem('one', reward)).toContain('enter an amount');
  });

  it('may have parts of a cent, which are not cut off in silence', () => {
    expect(amountProblem('0.001', reward)).toBe('Reward: at most two decimals, such as 1.50.');
  });

  it('is said no more when it is mended', () => {
    expect(['100000', '1,50', '1.500', '0'].map((text) => amountProblem(text, reward))).toEqual(
      Array(4).fill(''),
    );
    expect(amountProblem(' ', { ...reward, optional: true })).toBe('');
  });
});

describe('a number that cannot be saved', () => {
  it('is said in words of the page', () => {
    expect(numberProblem(count, '0')).toBe('Budget (answers): at least 1.');
    expect(numberProblem(count, '2000000')).toBe('Budget (answers): at most 1,000,000.');
    expect(numberProblem(count, '1.5')).toBe('Budget (answers): enter a whole number.');
    expect(numberProblem(count, '')).toBe('Budget (answers): enter a number.');
    expect(numberProblem(count, '', true)).toBe('Budget (answers): enter a number.');
    expect(numberProblem(target, '1')).toBe('Target: less than 1.');
    expect(numberProblem(count, '40')).toBe('');
  });

  it('is a share in per cent', () => {
    expect(numberProblem(share, '60')).toBe('Share of repeats: at most 50 %.');
    expect(['7', '50', '0', ''].map((text) => numberProblem(share, text))).toEqual([
      '',
      '',
      '',
      '',
    ]);
    expect([percentOf(0.07), shareOf(7), shareOf(percentOf(0.1))]).toEqual([7, 0.07, 0.1]);
  });
});

it('a text that cannot be saved is said in words of the page', () => {
  expect(textProblem(name, '  ')).toBe('Campaign name: enter a text.');
  expect(textProblem(name, 'x'.repeat(201))).toBe('Campaign name: at most 200 characters.');
  expect(textProblem(name, 'Birds')).toBe('');
});
