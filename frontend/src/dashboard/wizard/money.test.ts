import { describe, expect, it } from 'vitest';
import { amount, centsOf, duration } from './money';

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
