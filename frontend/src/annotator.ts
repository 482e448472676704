import './head-start';
import { mount } from 'svelte';
import Annotator from './annotator/Annotator.svelte';
import { readArrival } from './annotator/arrival';
import { Page } from './annotator/page.svelte';
import { readTexts } from './annotator/texts';
import './styles/tokens.css';
import './styles/base.css';
import './annotator/annotator.css';
import './annotator/groups.css';

const target = document.getElementById('annotator');
readTexts(document.getElementById('texts'));
if (target) {
  const page = new Page(readArrival(target));
  // Before anything is drawn: the first reply takes longer than that.
  void page.start();
  mount(Annotator, { target, props: { page } });
}
