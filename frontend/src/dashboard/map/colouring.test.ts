import { describe, expect, it } from 'vitest';
import { readAddress, writeAddress } from './address';
import { colouringOf, NONE, SLOTS } from './colouring';
import { paletteOf, parseColour } from './theme';

describe('colours by value', () => {
  it('gives the most frequent values colours of their own, the rest one, none another', () => {
    const values = [...'abcdefghijklm'];
    const codes = [...values.flatMap((_, k) => (k === 12 ? [12, 12, 12] : [k])), -1];
    const { slots, colours, legend } = colouringOf({ values, codes }, codes.length, 'no value');
    expect(legend[0]).toEqual({ slot: 0, label: 'm', count: 3 });
    expect(legend.at(-2)).toEqual({ slot: 10, label: '3 others', count: 3 });
    expect(legend.at(-1)).toEqual({ slot: 11, label: 'no value', count: 1 });
    expect(colours[slots.at(-1)!]).toBe(NONE);
    expect(colours.length).toBeLessThanOrEqual(SLOTS);
    expect(legend.reduce((sum, { count }) => sum + count, 0)).toBe(codes.length);
  });

  it('shows many numbers from low to high', () => {
    const values = Array.from({ length: 40 }, (_, k) => String(k * 2.5));
    const { slots, legend } = colouringOf({ values, codes: values.map((_, k) => k) }, 40, 'none');
    expect([slots[0], slots[39]]).toEqual([0, 7]);
    expect([...slots]).toEqual([...slots].sort((a, b) => a - b));
    expect(legend[0]!.label).toBe('0 – 12.2');
  });

  it('knows images that came after the column as without value', () => {
    const { slots, legend } = colouringOf({ values: ['a'], codes: [0] }, 2, 'never seen');
    expect([...slots]).toEqual([0, 11]);
    expect(legend.map(({ label }) => label)).toEqual(['a', 'never seen']);
  });

  it('dims by transparency', () => {
    expect(parseColour('#ff8000')).toEqual([1, 128 / 255, 0]);
    const palette = paletteOf([parseColour('#fff'), [0, 0, 0]], new Set([1]));
    expect([palette[0], palette[3]! > 0.5, palette[7]! < 0.2]).toEqual([1, true, true]);
  });
});

const PLAIN = { model: null, colour: '', selected: null, layout: 'pca' } as const;

it('writes what is shown into the address and reads it back', () => {
  const shown = { model: 3, colour: 'attribute:a b&c', selected: 17, layout: 'tsne' } as const;
  expect(readAddress(writeAddress('?x=1', shown))).toEqual(shown);
  const axes = { ...shown, colour: 'learned:2', layout: 'axes-2-0' } as const;
  expect(readAddress(writeAddress('', axes))).toEqual(axes);
  expect(readAddress('?layout=axes-2')).toEqual(PLAIN);
  expect(writeAddress('?x=1&model=2&layout=tsne', PLAIN)).toBe('?x=1');
  expect(readAddress('?model=abc&selected=-3&layout=umap')).toEqual(PLAIN);
});
