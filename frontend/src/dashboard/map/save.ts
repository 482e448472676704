/** The selection as a file. */
import { modelApi, reply } from '../../api/client';
import { queryOf } from './layout';
import type { MapState } from './map.svelte';

/** Raises ApiError. */
export async function saveSelection(map: MapState): Promise<void> {
  const layout = map.layout!;
  const bytes = await reply(
    modelApi(map.campaignId, layout.version).POST('/map/selection.csv', {
      params: { query: queryOf(layout) },
      body: { images: [...map.chosen] },
      parseAs: 'arrayBuffer',
    }),
  );
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([bytes], { type: 'text/csv' }));
  link.download = 'selection.csv';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
