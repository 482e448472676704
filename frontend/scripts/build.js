// All builds, one after the other; the first empties the folder.
import { build } from 'vite';
import { kinds } from './kinds.js';

const pages = kinds.map((kind) => `annotator-${kind}`);
for (const mode of ['requesters', 'sheet', 'preview', ...pages]) {
  // Of the kinds' builds, only the sizes that check-size.js prints are of interest.
  await build({ mode, logLevel: pages.includes(mode) ? 'warn' : 'info' });
}
