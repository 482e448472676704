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
