/** Layout of an axis strip: images side by side by rank, over the spread of all images. */

/** Widths of the slots: the images furthest out are the largest. */
const ENDS = [2, 1.4];

/** Share of the strip's width that each of n images takes. */
export function slotWidths(n: number): number[] {
  const weights = Array.from({ length: n }, (_, k) => ENDS[Math.min(k, n - 1 - k)] ?? 1);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** Middles of slots, from 0 to 1. */
export function slotMiddles(widths: readonly number[]): number[] {
  let left = 0;
  return widths.map((width) => {
    left += width;
    return left - width / 2;
  });
}

/** Where a coordinate lies between the ends, from 0 to 1; all in one place: in the middle. */
export function alongAxis(place: number, [low, high]: readonly [number, number]): number {
  return high > low ? (place - low) / (high - low) : 0.5;
}

/** SVG path of the area under counts, in a box of 1 × 1 with y downwards; smoothed a little. */
export function densityPath(counts: readonly number[]): string {
  const smooth = counts.map((count, k) => {
    const [before, after] = [counts[k - 1] ?? count, counts[k + 1] ?? count];
    return (before + 2 * count + after) / 4;
  });
  const most = Math.max(...smooth, Number.MIN_VALUE);
  const points = smooth.map((count, k) => {
    const x = (k + 0.5) / counts.length;
    return `${x.toFixed(4)},${(1 - count / most).toFixed(4)}`;
  });
  return `M0,1 L${points.join(' L')} L1,1 Z`;
}

/** Lines from each image's place on the axis to its slot, in a box of 1 × 1. */
export function leaderPath(places: readonly number[], middles: readonly number[]): string {
  return places
    .map((place, k) => `M${place.toFixed(4)},0 L${(middles[k] ?? 0).toFixed(4)},1`)
    .join(' ');
}
