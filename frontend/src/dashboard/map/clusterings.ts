/** Clusterings of a model, as far as there are any. */
import { at, reply, type ModelApi } from '../../api/client';
import { ApiError } from '../../api/errors';
import type { ClusteringSummary } from '../../api/types';
import type { Column } from './colouring';

/** Empty when the model has none; raises ApiError. */
export async function listClusterings(api: ModelApi): Promise<ClusteringSummary[]> {
  try {
    return (await reply(api.GET('/clusterings'))).items;
  } catch (problem) {
    if (problem instanceof ApiError && problem.status === 404) return [];
    throw problem;
  }
}

/** Raises ApiError. */
export async function clusterColumn(api: ModelApi, id: string): Promise<Column> {
  const { labels, clusters } = await reply(
    api.GET('/clusterings/{clustering_id}', at({ clustering_id: id })),
  );
  const slots = new Map(clusters.map(({ index }, k) => [index, k]));
  return {
    values: clusters.map(({ index, name }) => name || `cluster ${index + 1}`),
    codes: labels.map((label) => slots.get(label) ?? -1),
  };
}
