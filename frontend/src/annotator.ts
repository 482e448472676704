import { mount } from 'svelte';
import Annotator from './annotator/Annotator.svelte';
import './annotator/groups.css';
import './styles/tokens.css';
import './styles/base.css';

const target = document.getElementById('annotator');
if (target) mount(Annotator, { target, props: { link: target.dataset['link'] ?? '' } });
