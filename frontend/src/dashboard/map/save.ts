/** The selection as a file. */
import { requestBytes } from '../../api/client';
import type { MapState } from './map.svelte';

/** Raises ApiError. */
export async function saveSelection(map: MapState): Promise<void> {
  const bytes = await requestBytes(`${map.root}/models/${map.layout!.version}/map/selection.csv`, {
    method: 'POST',
    body: { images: map.chosen },
  });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([bytes], { type: 'text/csv' }));
  link.download = 'selection.csv';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
