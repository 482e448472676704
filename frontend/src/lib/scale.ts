/** Scales and ticks of line charts. */

export interface Point {
  x: number;
  y: number;
  /** Standard error; null where there is none. */
  error: number | null;
}

export interface Series {
  name: string;
  colour: string;
  points: Point[];
  /** What is expected next: drawn dashed from the last point. */
  ahead?: Point;
}

export type Domain = [low: number, high: number];

/** Round numbers from low to high, about `count` of them, both ends covered. */
export function niceTicks([low, high]: Domain, count = 5): number[] {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / Math.max(1, count - 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: Math.max(2, last - first + 1) }, (_, k) =>
    Number(((first + k) * step).toPrecision(12)),
  );
}

/** What all points span, with what they expect and with their errors. */
export function extents(series: readonly Series[]): { x: Domain; y: Domain } {
  const points = series.flatMap(({ points, ahead }) => (ahead ? [...points, ahead] : points));
  const x = points.map((point) => point.x);
  const y = points.flatMap(({ y, error }) => [y - (error ?? 0), y + (error ?? 0)]);
  return { x: span(x), y: span(y) };
}

function span(values: number[]): Domain {
  return values.length > 0 ? [Math.min(...values), Math.max(...values)] : [0, 1];
}

/** From a domain to screen coordinates. */
export function linear([low, high]: Domain, [from, to]: Domain): (value: number) => number {
  const factor = high > low ? (to - from) / (high - low) : 0;
  return (value) => (factor === 0 ? (from + to) / 2 : from + (value - low) * factor);
}

export function linePath(
  points: readonly Point[],
  x: (value: number) => number,
  y: (value: number) => number,
): string {
  return points
    .map((point, k) => `${k === 0 ? 'M' : 'L'}${x(point.x).toFixed(1)},${y(point.y).toFixed(1)}`)
    .join('');
}

export function withError({ y, error }: Point, format: (value: number) => string): string {
  return error === null ? format(y) : `${format(y)} ± ${format(error)}`;
}
