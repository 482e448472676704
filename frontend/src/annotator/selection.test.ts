import { describe, expect, it } from 'vitest';
import { boxBetween, extended, toggled, touches } from './selection';

describe('selection', () => {
  it('toggles one image', () => {
    expect([...toggled(new Set([1, 2]), 2)]).toEqual([1]);
    expect([...toggled(new Set([1]), 3)]).toEqual([1, 3]);
  });

  it('extends from the anchor in reading order, both ways, keeping what was chosen', () => {
    const images = [7, 3, 9, 4, 1];
    expect([...extended(new Set(), images, 3, 4)].sort()).toEqual([3, 4, 9]);
    expect([...extended(new Set([1]), images, 4, 7)].sort()).toEqual([1, 3, 4, 7, 9]);
    expect([...extended(new Set(), images, null, 9)]).toEqual([9]);
  });

  it('knows what a box touches, whichever way it is drawn', () => {
    const box = boxBetween(50, 60, 10, 20);
    expect(box).toEqual({ left: 10, top: 20, right: 50, bottom: 60 });
    expect(touches(box, { left: 49, top: 59, right: 90, bottom: 90 })).toBe(true);
    expect(touches(box, { left: 51, top: 20, right: 90, bottom: 60 })).toBe(false);
  });
});
