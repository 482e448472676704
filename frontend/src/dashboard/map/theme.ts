/** The map's colours, from the design tokens, so that light and dark both fit. */
import { SLOTS } from './colouring';

export type Colour = readonly [number, number, number];

export interface Theme {
  background: Colour;
  /** Behind pictures that do not fill their frame. */
  card: Colour;
  border: Colour;
  accent: Colour;
  /** Of a colour as style sheets write it: "#2c5cc5", or "var(--group-0)". */
  resolve: (colour: string) => Colour;
}

export function readTheme(element: Element): Theme {
  const style = getComputedStyle(element);
  const token = (name: string) => parseColour(style.getPropertyValue(name).trim());
  const resolve = (colour: string) => {
    const name = /^var\((.+)\)$/.exec(colour)?.[1];
    return name ? token(name) : parseColour(colour);
  };
  return {
    background: token('--colour-background'),
    card: token('--colour-surface'),
    border: token('--colour-border'),
    accent: token('--colour-accent'),
    resolve,
  };
}

/** "#2c5cc5" → shares of red, green and blue. */
export function parseColour(hex: string): Colour {
  const digits = hex.replace('#', '');
  const long = digits.length === 3 ? [...digits].map((one) => one + one).join('') : digits;
  const value = Number.parseInt(long, 16) || 0;
  return [(value >> 16) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255];
}

/** (4 × SLOTS) red, green, blue and how much of a dot is seen, by slot of the colouring. */
export function paletteOf(
  colours: readonly Colour[],
  dimmed: ReadonlySet<number>,
  opacities: readonly number[] = [],
): Float32Array {
  const palette = new Float32Array(4 * SLOTS);
  colours.forEach((colour, slot) => {
    palette.set([...colour, dimmed.has(slot) ? 0.12 : (opacities[slot] ?? 1)], 4 * slot);
  });
  return palette;
}
