/** Colours that tell things apart: the annotators' groups, from the design tokens, so that light and
 * dark both fit. The rest share a grey. */

export const PALETTE = Array.from({ length: 10 }, (_, k) => `var(--group-${k})`);
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
  yes: 'var(--group-2)',
  no: 'var(--group-9)',
  unsure: 'var(--group-unsure)',
};

/** The colours of values in their order; all by name where all are names of colours. */
export function paletteOf(values: readonly string[]): string[] {
  const named = values.map((value) => NAMED[value.trim().toLowerCase()]);
  return named.map((colour, k) =>
    named.every((one) => one !== undefined) ? colour! : (PALETTE[k] ?? OTHERS),
  );
}

export function groupColour(group: number): string {
  return PALETTE[group % PALETTE.length] ?? OTHERS;
}
