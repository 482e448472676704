import { describe, expect, it } from 'vitest';
import { PALETTE, paletteOf } from './palette';

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
