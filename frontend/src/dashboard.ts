/** Mounts the islands of the server-rendered pages. */
import { mount, type Component } from 'svelte';
import LiveProgress from './dashboard/LiveProgress.svelte';
import Quality from './dashboard/Quality.svelte';
import Results from './dashboard/Results.svelte';
import Uploader from './dashboard/Uploader.svelte';
import './styles/app.css';

function mountAll<Props extends Record<string, unknown>>(
  name: string,
  component: Component<Props>,
  propsOf: (data: DOMStringMap) => Props,
): void {
  for (const target of document.querySelectorAll<HTMLElement>(`[data-island="${name}"]`)) {
    mount(component, { target, props: propsOf(target.dataset) });
  }
}

mountAll('uploader', Uploader, (data) => ({ collectionId: data['collectionId'] ?? '' }));
mountAll('live-progress', LiveProgress, (data) => ({ campaignId: data['campaignId'] ?? '' }));
mountAll('results', Results, (data) => ({ campaignId: data['campaignId'] ?? '' }));
mountAll('quality', Quality, (data) => ({ campaignId: data['campaignId'] ?? '' }));
