/** Words for clusters. */
import type { Cluster } from '../../api/types';

export const ALGORITHMS = [
  ['k-means', 'k-means', 'Round clusters of similar size, for any number of images.'],
  [
    'ward',
    'agglomerative, Ward',
    'Merges the clusters that add least to the spread. Up to 5,000 images.',
  ],
  [
    'average',
    'agglomerative, average',
    'Merges the clusters that are nearest on average and finds outliers. Up to 5,000 images.',
  ],
] as const;

/** A name, or the word annotators use, or the number. */
export function clusterName({ name, words, index }: Pick<Cluster, 'name' | 'words' | 'index'>) {
  return name || words[0] || `cluster ${index + 1}`;
}

/** How to read a mean silhouette (Kaufman and Rousseeuw 1990). */
export function silhouetteWords(value: number): string {
  if (value > 0.7) return 'clearly separated';
  if (value > 0.5) return 'separated';
  if (value > 0.25) return 'weakly separated';
  return 'hardly separated';
}

/** Plus zero: no "-0.00". */
export function silhouetteText(value: number): string {
  return (Math.round(value * 100) / 100 + 0).toFixed(2);
}
