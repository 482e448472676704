/** Mounts the islands of the server-rendered pages, each with its own piece of the build. */
import { mount, type Component } from 'svelte';
import { showChosenTab } from './lib/tabs';
import './styles/app.css';

type Island = () => Promise<{ default: Component<Record<string, string>> }>;

/** By the name in `data-island`; the element's other data attributes are the island's props. */
const islands: Record<string, Island> = {
  questions: () => import('./dashboard/questions/QuestionForm.svelte') as ReturnType<Island>,
  translations: () =>
    import('./dashboard/translations/TranslationForm.svelte') as unknown as ReturnType<Island>,
  copy: () => import('./lib/CopyButton.svelte') as ReturnType<Island>,
  collection: () => import('./dashboard/collection/CollectionPage.svelte') as ReturnType<Island>,
  wizard: () => import('./dashboard/wizard/Wizard.svelte') as ReturnType<Island>,
  monitor: () => import('./dashboard/monitor/Monitor.svelte') as ReturnType<Island>,
  'simulated-crowd': () =>
    import('./dashboard/crowd/SimulatedCrowd.svelte') as unknown as ReturnType<Island>,
  recruit: () => import('./dashboard/recruit/RecruitPage.svelte') as ReturnType<Island>,
  map: () => import('./dashboard/map/MapPage.svelte') as ReturnType<Island>,
  labels: () => import('./dashboard/labels/LabelsPage.svelte') as ReturnType<Island>,
  classes: () => import('./dashboard/classes/ClassesPage.svelte') as ReturnType<Island>,
  attributes: () => import('./dashboard/attributes/AttributesPage.svelte') as ReturnType<Island>,
  clusters: () => import('./dashboard/clusters/ClustersPage.svelte') as ReturnType<Island>,
  compare: () => import('./dashboard/compare/ComparePage.svelte') as ReturnType<Island>,
  alignment: () => import('./dashboard/alignment/AlignmentPage.svelte') as ReturnType<Island>,
  quality: () => import('./dashboard/charts/QualityPage.svelte') as ReturnType<Island>,
  annotators: () => import('./dashboard/annotators/AnnotatorsPage.svelte') as ReturnType<Island>,
  settings: () => import('./dashboard/settings/SettingsPage.svelte') as ReturnType<Island>,
  api: () => import('./dashboard/api/ApiPage.svelte') as ReturnType<Island>,
  exports: () => import('./dashboard/exports/ExportsPage.svelte') as ReturnType<Island>,
};

const tabs = document.querySelector('.tabs');
showChosenTab(tabs);
// A phone that is turned has another width.
addEventListener('resize', () => showChosenTab(tabs));

for (const target of document.querySelectorAll<HTMLElement>('[data-island]')) {
  const { island, ...data } = target.dataset;
  const load = islands[island ?? ''];
  if (!load) throw new Error(`There is no island ${island}.`);
  const props = Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, value ?? '']),
  );
  void load().then((loaded) => mount(loaded.default, { target, props }));
}
