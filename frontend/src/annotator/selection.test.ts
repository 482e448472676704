import { describe, expect, it } from 'vitest';
import { boxBetween, entry, extended, inner, toggled, touches } from './selection';

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

  it('knows what a line crosses, and how far along, whichever way it goes', () => {
    const box = { left: 10, top: 10, right: 30, bottom: 30 };
    expect(entry(box, 0, 20, 40, 20)).toBe(0.25);
    expect(entry(box, 40, 20, 0, 20)).toBe(0.25);
    expect(entry(box, 20, 0, 20, 40)).toBe(0.25);
    expect(entry(box, 0, 0, 40, 40)).toBe(0.25);
    expect(entry(box, 15, 15, 20, 25)).toBe(0);
    expect(entry(box, 0, 5, 40, 5)).toBeNull();
    expect(entry(box, 0, 20, 9, 20)).toBeNull();
    expect(entry(box, 0, 30, 30, 60)).toBeNull();
    expect(entry(box, 20, 20, 20, 20)).toBe(0);
    expect(entry(box, 20, 40, 20, 40)).toBeNull();
  });

  it('takes the middle of a tile, so that the way between two others passes both', () => {
    const [right, below] = [
      { left: 110, top: 0, right: 210, bottom: 100 },
      { left: 0, top: 110, right: 100, bottom: 210 },
    ];
    for (const tile of [right, below]) expect(entry(inner(tile), 50, 50, 160, 160)).toBeNull();
    expect(inner(right)).toEqual({ left: 130, top: 20, right: 190, bottom: 80 });
  });
});
