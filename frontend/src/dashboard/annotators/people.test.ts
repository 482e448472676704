import { expect, it } from 'vitest';
import { forgottenText, keptText } from './people';

it('what is kept is told, with how many are not settled and until when', () => {
  expect(keptText({ people: 0, unsettled: 0, until: null })).toBe('No identities are stored.');
  const text = keptText({ people: 1200, unsettled: 3, until: '2027-01-02T10:00:00Z' });
  expect(text).toContain('of 1,200 people is stored');
  expect(text).toContain('3 of them still have open work or payments.');
  expect(text).toContain('forgotten automatically after 2027-01-02.');
  expect(keptText({ people: 1, unsettled: 0, until: null })).not.toContain('still have open work');
});

it('those who stay known are told', () => {
  expect(forgottenText({ forgotten: 1, kept: 0 })).toBe('1 person forgotten.');
  expect(forgottenText({ forgotten: 0, kept: 2 })).toContain('2 people stay stored');
});
