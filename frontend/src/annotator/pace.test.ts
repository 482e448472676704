import { describe, expect, it } from 'vitest';
import { kindMinutes, median } from './pace';
import { Pace } from './pace.svelte';

describe('median', () => {
  it.each([
    [[], 0],
    [[5], 5],
    [[9, 1, 5], 5],
    [[10, 20, 2, 600], 15],
  ])('of %j is %d', (values, middle) => expect(median(values)).toBe(middle));
});

describe('kindMinutes', () => {
  it.each([
    [10, 0],
    [44, 0],
    [45, 1],
    [89, 1],
    [90, 2],
    [1140, 19],
    [1260, 20],
    [1400, 25],
  ])('%d seconds are %d minutes', (seconds, minutes) => expect(kindMinutes(seconds)).toBe(minutes));
});

describe('Pace', () => {
  it('knows nothing before the first set', () => {
    expect(new Pace().minutesFor(3, 0)).toBeNull();
  });

  it('goes by earlier visits, then by the sets of this one, whatever break there was', () => {
    const pace = new Pace();
    expect(pace.minutesFor(2, 120)).toBe(4);
    pace.add(60_000);
    pace.add(60_000);
    pace.add(3_600_000);
    expect(pace.minutesFor(2, 120)).toBe(2);
  });

  it('says nothing once nothing is left', () => {
    const pace = new Pace();
    pace.add(60_000);
    expect(pace.minutesFor(0, 60)).toBeNull();
    expect(pace.minutesFor(-1, 60)).toBeNull();
  });
});
