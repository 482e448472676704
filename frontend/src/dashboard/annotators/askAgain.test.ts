import { expect, it } from 'vitest';
import { askAgainText, askedAgainText } from './askAgain';

const price = { answers: 60, open: 0, reopens: false, cost_cents: 360, currency: 'USD' };

it('says what asking again costs', () => {
  expect(askAgainText(price)).toBe('60 answers will be asked again: about $3.60 more, with fees.');
  expect(askAgainText({ ...price, answers: 1, cost_cents: 0 })).toBe(
    '1 answer will be asked again.',
  );
  expect(askAgainText({ ...price, answers: 0 })).toContain('none is asked again');
});

it('says that a finished campaign runs again, and for what', () => {
  const text = askAgainText({ ...price, reopens: true, open: 5 });
  expect(text).toContain('5 answers of others are still to be asked again, too.');
  expect(text).toContain('It runs again for these answers only.');
  expect(askAgainText({ ...price, reopens: true })).not.toContain('of others');
});

it('counts what was asked again', () => {
  expect(askedAgainText(0, 0)).toBe('');
  expect(askedAgainText(60, 12)).toBe('60 answers asked again, 12 still open');
  expect(askedAgainText(1, 0)).toBe('1 answer asked again');
});
