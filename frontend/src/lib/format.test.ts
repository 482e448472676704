import { describe, expect, it } from 'vitest';
import { amount, centsOf, duration, moment, sizeText, timeText, when } from './format';

describe('amounts', () => {
  it('are written with their currency', () => {
    expect(amount(123_450, 'USD')).toBe('$1,234.50');
    expect(amount(100, '???')).toBe('1.00 ???');
  });

  it('are read with a point or a comma', () => {
    expect([centsOf('1.50'), centsOf('2,25'), centsOf(''), centsOf('x'), centsOf('-1')]).toEqual([
      150,
      225,
      0,
      null,
      null,
    ]);
  });
});

describe('durations', () => {
  it('have the unit that fits', () => {
    expect([duration(0.2), duration(45), duration(150), duration(1500), duration(6000)]).toEqual([
      '1 min',
      '45 min',
      '2.5 h',
      '25 h',
      '4 days',
    ]);
  });
});

describe('an upload', () => {
  it('speaks of sizes and times as people do', () => {
    expect([0, 999, 1500, 999_600, 12_300_000, 2e9].map(sizeText)).toEqual([
      '0 B',
      '999 B',
      '1.5 kB',
      '1.0 MB',
      '12 MB',
      '2.0 GB',
    ]);
    expect([3, 31, 58, 600, 3500, 9000].map(timeText)).toEqual([
      'a few seconds',
      '40 seconds',
      'a minute',
      '10 minutes',
      '58 minutes',
      '2.5 hours',
    ]);
  });
});

describe('times', () => {
  it('have the day where it is not today', () => {
    const now = new Date(2026, 10, 21, 18, 0);
    expect(when(new Date(2026, 10, 21, 9, 5).toISOString(), now)).toBe('09:05');
    expect(when(new Date(2026, 9, 3, 12, 3).toISOString(), now)).toBe('3 Oct, 12:03');
  });
});

it('moments have one clock, of 24 hours', () => {
  expect(moment(new Date(2026, 10, 21, 18, 5).toISOString())).toBe('21 Nov 2026, 18:05');
});
