/** The selection as a file. */
import { requestBytes } from '../../api/client';
import { queryOf } from './layout';
import type { MapState } from './map.svelte';

/** Raises ApiError. */
export async function saveSelection(map: MapState): Promise<void> {
  const layout = map.layout!;
  const path = `${map.root}/models/${layout.version}/map/selection.csv${queryOf(layout)}`;
  const bytes = await requestBytes(path, {
    method: 'POST',
    body: { images: map.chosen },
  });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([bytes], { type: 'text/csv' }));
  link.download = 'selection.csv';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
