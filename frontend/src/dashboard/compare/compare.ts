/** Two models side by side: colours, figures in words. */
import type { ComparedPoint, Comparison, Figure } from '../../api/types';

/** Colour of a place on the map ([-1, 1] both ways): an image keeps the colour of its place in the
 * first model, so that order on the second map shows at a glance. */
export function placeColour(x: number, y: number): string {
  const turn = (Math.atan2(y, x) / (2 * Math.PI) + 1) % 1;
  const chroma = Math.min(1, Math.hypot(x, y)) * 0.17;
  return `oklch(0.64 ${chroma.toFixed(3)} ${(360 * turn).toFixed(0)})`;
}

export interface Reading {
  name: string;
  figure: Figure;
  percent: boolean;
  about: string;
}

export function readingsOf({ k, disparity, overlap, rank_correlation }: Comparison): Reading[] {
  return [
    {
      name: `Shared among the ${k} nearest neighbours`,
      figure: overlap,
      percent: true,
      about: 'Mean share over all images: 100 % means the same neighbours.',
    },
    {
      name: 'Disparity',
      figure: disparity,
      percent: false,
      about:
        'The difference that remains after rotating, mirroring, scaling and shifting (Procrustes): 0 is the same shape, 1 is nothing in common.',
    },
    {
      name: 'Rank correlation of distances',
      figure: rank_correlation,
      percent: false,
      about: 'Over all pairs of images (Spearman): 1 is the same order from nearest to furthest.',
    },
  ];
}

/** "0.31 ± 0.02", "64 % ± 2 %". */
export function figureText(value: number, error: number, percent: boolean): string {
  return percent
    ? `${(100 * value).toFixed(1)} % ± ${(100 * error).toFixed(1)} %`
    : `${(value + 0).toFixed(3)} ± ${error.toFixed(3)}`;
}

/** How far a figure is from that of unrelated models, in the words of a reader. */
export function versusChance({ value, error, chance, chance_error }: Figure): string {
  const spread = Math.hypot(error, chance_error);
  const far = Math.abs(value - chance);
  return far > 3 * spread ? 'far from chance' : 'no different from chance';
}

/** The point nearest to a place on one of both maps, within reach. */
export function pointAt(
  points: readonly ComparedPoint[],
  other: boolean,
  x: number,
  y: number,
  reach: number,
): ComparedPoint | null {
  let best: ComparedPoint | null = null;
  let least = reach;
  for (const point of points) {
    const far = other
      ? Math.hypot(point.other_x - x, point.other_y - y)
      : Math.hypot(point.x - x, point.y - y);
    if (far <= least) [best, least] = [point, far];
  }
  return best;
}
