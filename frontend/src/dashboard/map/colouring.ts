/** Colours for the points of a map, by the value that each image has. */
import { OTHERS, PALETTE, paletteOf } from '../../lib/palette';

/** Colours a map can show at once: ten values, the others, none, and to spare. */
export const SLOTS = 16;
const N_VALUES = PALETTE.length;
export const NONE = '#b3bac4';
/** From low to high; viridis, whose lightness alone tells the order. */
const RAMP = [
  '#440154',
  '#46327e',
  '#365c8d',
  '#277f8e',
  '#1fa187',
  '#4ac16d',
  '#a0da39',
  '#e3d31c',
];

/** How much is seen of images in five steps of certainty. */
const FADE = [0.15, 0.3, 0.5, 0.75, 1];

/** `values[codes[k]]` belongs to position k; −1: no value. */
export interface Column {
  values: string[];
  codes: number[];
}

export interface Entry {
  slot: number;
  label: string;
  count: number;
}

export interface Colouring {
  /** Slot of each position. */
  slots: Uint8Array;
  /** Colour of each slot. */
  colours: string[];
  /** Empty when nothing is coloured. */
  legend: Entry[];
  /** How much is seen of the images of each slot, 0 to 1; all of them where it is not given. */
  opacities?: number[];
}

/** All in the same colour. */
export function plain(n: number, colour: string): Colouring {
  return { slots: new Uint8Array(n), colours: [colour], legend: [] };
}

/** The most frequent values in colours of their own; many numbers in a ramp from low to high. */
export function colouringOf({ values, codes }: Column, n: number, none: string): Colouring {
  const numbers = values.map(Number);
  const ordered =
    values.length > N_VALUES && values.every((v, k) => v.trim() && isFinite(numbers[k]!));
  return ordered ? rampOf(numbers, codes, n, none) : valuesOf(values, codes, n, none);
}

/** How certain each image is, in per cent: the less, the fainter. `values` are numbers. */
export function fadeOf({ values, codes }: Column, n: number, colour: string): Colouring {
  const step = 100 / FADE.length;
  const slotOf = Uint8Array.from(values, (value) =>
    Math.min(Math.floor(Number(value) / step), FADE.length - 1),
  );
  const labels = FADE.map((_, k) => `${k * step} – ${(k + 1) * step} %`);
  const colours = FADE.map(() => colour);
  const faded = slotColouring(colours, labels, slotOf, codes, n, 'not measured');
  return { ...faded, opacities: [...FADE, 0.25] };
}

function valuesOf(values: string[], codes: number[], n: number, none: string): Colouring {
  const counts = countsOf(codes, values.length);
  const ranked = values.map((_, k) => k).sort((a, b) => counts[b]! - counts[a]! || a - b);
  const shown = ranked.slice(0, N_VALUES);
  const slotOf = new Uint8Array(values.length).fill(N_VALUES);
  shown.forEach((value, rank) => (slotOf[value] = rank));
  const labels = shown.map((value) => values[value]!);
  const rest = values.length - shown.length;
  const colours = [...paletteOf(labels), ...PALETTE.slice(labels.length)];
  labels.length = N_VALUES;
  return slotColouring([...colours, OTHERS], [...labels, `${rest} others`], slotOf, codes, n, none);
}

function rampOf(numbers: number[], codes: number[], n: number, none: string): Colouring {
  const low = Math.min(...numbers);
  const step = (Math.max(...numbers) - low) / RAMP.length;
  const slotOf = Uint8Array.from(numbers, (value) =>
    Math.min(Math.floor((value - low) / step), RAMP.length - 1),
  );
  const at = (k: number) => Number((low + k * step).toPrecision(3)).toString();
  const labels = RAMP.map((_, k) => `${at(k)} – ${at(k + 1)}`);
  return slotColouring(RAMP, labels, slotOf, codes, n, none);
}

/** `slotOf`: of each value; the slot after the last colour is for images without a value. */
function slotColouring(
  colours: readonly string[],
  labels: (string | undefined)[],
  slotOf: Uint8Array,
  codes: number[],
  n: number,
  none: string,
): Colouring {
  const without = colours.length;
  const slots = new Uint8Array(n).fill(without);
  for (let k = 0; k < Math.min(n, codes.length); k++) {
    if (codes[k]! >= 0) slots[k] = slotOf[codes[k]!]!;
  }
  const counts = countsOf(slots, without + 1);
  const legend = [...labels, none]
    .map((label, slot) => ({ slot, label: label ?? '', count: counts[slot]! }))
    .filter(({ count }) => count > 0);
  return { slots, colours: [...colours, NONE], legend };
}

function countsOf(codes: ArrayLike<number>, n: number): number[] {
  const counts = new Array<number>(n).fill(0);
  for (let k = 0; k < codes.length; k++) {
    const code = codes[k]!;
    if (code >= 0) counts[code]! += 1;
  }
  return counts;
}
