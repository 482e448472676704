/** Colours for the values of an attribute: the most frequent first, the rest share a grey. */

export const PALETTE = [
  '#3b6fd4',
  '#e0861a',
  '#2a9d62',
  '#c43d3d',
  '#8a5cc2',
  '#8c5a44',
  '#d05fa8',
  '#5f6b7a',
  '#a8a02a',
  '#1fa3b8',
];
export const OTHERS = '#9aa3af';

/** Values that are names of colours are drawn as what they say: no red is green. So are votes. */
const NAMED: Record<string, string> = {
  red: '#d03a3a',
  orange: '#e8892b',
  yellow: '#d9bb1c',
  green: '#2f9e5b',
  cyan: '#1fa9b8',
  blue: '#3b6fd4',
  purple: '#8a5cc2',
  pink: '#d977b5',
  brown: '#8c5a44',
  grey: '#868e99',
  gray: '#868e99',
  black: '#2b3038',
  white: '#dfe3e8',
  yes: '#2f9e5b',
  no: '#868e99',
  unsure: '#d9bb1c',
};

/** The colours of values in their order; all by name where all are names of colours. */
export function paletteOf(values: readonly string[]): string[] {
  const named = values.map((value) => NAMED[value.trim().toLowerCase()]);
  return named.map((colour, k) =>
    named.every((one) => one !== undefined) ? colour! : (PALETTE[k] ?? OTHERS),
  );
}

export interface Colouring {
  /** One per point; empty when nothing is coloured. */
  colours: string[];
  legend: { value: string; colour: string; count: number }[];
}

export function coloursOf(values: readonly (string | null)[]): Colouring {
  const counts = new Map<string, number>();
  for (const value of values) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  const ranked = [...counts].sort(([a, m], [b, n]) => n - m || a.localeCompare(b));
  const colourOf = new Map(ranked.map(([value], rank) => [value, PALETTE[rank] ?? OTHERS]));
  return {
    colours: values.map((value) => (value === null ? OTHERS : (colourOf.get(value) ?? OTHERS))),
    legend: ranked.slice(0, PALETTE.length).map(([value, count]) => ({
      value,
      colour: colourOf.get(value) ?? OTHERS,
      count,
    })),
  };
}

export function groupColour(group: number): string {
  return PALETTE[group % PALETTE.length] ?? OTHERS;
}
