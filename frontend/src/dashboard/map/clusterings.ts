/** Clusterings of a model, as far as there are any. */
import { ApiError, request, requestAll } from '../../api/client';
import type { Column } from './colouring';

export interface Clustering {
  id: string;
  name: string;
  algorithm: string;
  n_clusters: number;
}

interface Labels {
  labels: number[];
  clusters: { index: number; name: string }[];
}

/** Empty when the model has none; raises ApiError. */
export async function listClusterings(root: string, version: number): Promise<Clustering[]> {
  try {
    return await requestAll<Clustering>(`${root}/models/${version}/clusterings`);
  } catch (problem) {
    if (problem instanceof ApiError && problem.status === 404) return [];
    throw problem;
  }
}

/** Raises ApiError. */
export async function clusterColumn(root: string, version: number, id: string): Promise<Column> {
  const { labels, clusters } = await request<Labels>(
    `${root}/models/${version}/clusterings/${encodeURIComponent(id)}`,
  );
  const at = new Map(clusters.map(({ index }, k) => [index, k]));
  return {
    values: clusters.map(({ index, name }) => name || `cluster ${index + 1}`),
    codes: labels.map((label) => at.get(label) ?? -1),
  };
}
