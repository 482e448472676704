import { mount } from 'svelte';
import Annotator from './annotator/Annotator.svelte';
import { readTexts } from './annotator/texts';
import './styles/tokens.css';
import './styles/base.css';
import './annotator/annotator.css';
import './annotator/groups.css';

const target = document.getElementById('annotator');
readTexts(document.getElementById('texts'));
if (target) mount(Annotator, { target, props: { link: target.dataset['link'] ?? '' } });
