import { describe, expect, it } from 'vitest';
import { Rate, sizeText, timeText } from './rate';

describe('rate of an upload', () => {
  it('looks at the last quarter of a minute', () => {
    const rate = new Rate();
    expect(rate.perSecond).toBe(0);
    // Ten slow seconds, then a fast minute.
    for (let s = 0; s <= 10; s += 1) rate.note(s * 1000, s * 100);
    expect(rate.perSecond).toBe(100);
    for (let s = 11; s <= 70; s += 1) rate.note(s * 1000, 1000 + (s - 10) * 5000);
    expect(rate.perSecond).toBe(5000);
  });

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
