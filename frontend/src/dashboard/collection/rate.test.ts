import { describe, expect, it } from 'vitest';
import { Rate } from './rate';

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
});
