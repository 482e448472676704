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

type Named = Pick<Cluster, 'name' | 'words' | 'index'>;

/**
 * What each cluster is called, in their order: the name it was given, or the first of the
 * annotators' words that names no other cluster, or its number.
 */
export function clusterNames(clusters: readonly Named[]): string[] {
  const taken = new Set(clusters.map(({ name }) => name).filter(Boolean));
  return clusters.map((cluster) => {
    if (cluster.name) return cluster.name;
    const name = cluster.words.find((word) => !taken.has(word)) ?? `cluster ${cluster.index + 1}`;
    taken.add(name);
    return name;
  });
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

/**
 * "weakly separated (silhouette 0.30)". A model's own clusters are not judged by the silhouette: the
 * model decides by probabilities, and clusters that it tells apart surely can be near each other.
 */
export function separationText(silhouette: number, algorithm: string, what = 'silhouette'): string {
  const value = `${what} ${silhouetteText(silhouette)}`;
  return algorithm === 'model' ? value : `${silhouetteWords(silhouette)} (${value})`;
}

/** Which names were not given to this clustering's clusters by hand; empty if all were. */
export function carriedText(clusters: readonly Pick<Cluster, 'carried_from'>[]): string {
  const versions = clusters.flatMap(({ carried_from: from }) => from ?? []);
  if (versions.length === 0) return '';
  const names = versions.length === 1 ? '1 name is' : `${versions.length} names are`;
  return `${names} carried over from model ${versions[0]}: these clusters have most of the images that the named ones had.`;
}
