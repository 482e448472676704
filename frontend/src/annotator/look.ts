/** What a platform shows of a task before somebody takes it on: to be looked at, not touched. */
import { mount } from 'svelte';
import type { CampaignForAnnotators, LeasedImage } from '../api/types';
import Look from './Look.svelte';
import { type Key, readTexts } from './texts';
import '../styles/tokens.css';
import '../styles/base.css';
import './annotator.css';
import './groups.css';

interface Shown {
  campaign: CampaignForAnnotators;
  images: readonly LeasedImage[];
  target: number;
}

export function showLook(shown: Shown): void {
  const target = document.getElementById('annotator');
  if (!target) return;
  readTexts(document.getElementById('texts'));
  const { look = 'look_platform', platform = '' } = target.dataset;
  mount(Look, { target, props: { ...shown, look: look as Key, platform } });
}
