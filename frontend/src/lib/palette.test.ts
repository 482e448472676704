import { describe, expect, it } from 'vitest';
import { PALETTE, coloursOf, paletteOf } from './palette';

describe('colours of an attribute', () => {
  it('gives equal values equal colours, and lists the most frequent first', () => {
    const { colours, legend } = coloursOf(['b', 'a', 'b', null]);
    expect(colours[0]).toBe(colours[2]);
    expect(colours[0]).not.toBe(colours[1]);
    expect(legend.map((entry) => [entry.value, entry.count])).toEqual([
      ['b', 2],
      ['a', 1],
    ]);
  });

  it('colours every point even when there are many values', () => {
    const values = Array.from({ length: 40 }, (_, k) => `value ${k}`);
    expect(coloursOf(values).colours.every((colour) => colour.startsWith('#'))).toBe(true);
  });
});

describe('names of colours', () => {
  it('are votes, too', () => {
    const [yes, no] = paletteOf(['yes', 'no']);
    expect([yes, no]).not.toEqual(PALETTE.slice(0, 2));
    expect(paletteOf(['no', 'yes'])).toEqual([no, yes]);
  });

  it('are drawn as what they say, if all values are such names', () => {
    const [red, green] = paletteOf(['red', 'Green']);
    expect(red).not.toBe(PALETTE[0]);
    expect(paletteOf(['green', 'red'])).toEqual([green, red]);
    expect(paletteOf(['red', 'round'])).toEqual(PALETTE.slice(0, 2));
  });
});
