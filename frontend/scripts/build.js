// All builds, one after the other; the first empties the folder.
import { build } from 'vite';
import { kinds } from './kinds.js';

const pages = kinds.map((kind) => `annotator-${kind}`);
for (const mode of ['requesters', 'sheet', 'posted', 'preview', ...pages]) {
  // check-size.js prints the sizes of the kinds' builds; nothing else about them is of interest.
  await build({ mode, logLevel: pages.includes(mode) ? 'warn' : 'info' });
}
