// The application reads one manifest of all builds (vite.config.ts). Written last, so that a build
// that failed has none. The preview has a copy of the annotators' page; that page's own entries count.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { kinds } from './kinds.js';

const build = new URL('../../app/static/build/', import.meta.url);
const SHARED = 'src/head-start.ts';
const joined = {};

function add(name, rename = (key) => key) {
  const part = new URL(`${name}.json`, build);
  for (const [key, chunk] of Object.entries(JSON.parse(readFileSync(part, 'utf8')))) {
    joined[rename(key)] = chunk;
  }
  rmSync(part);
}

for (const name of ['requesters', 'sheet', 'posted', 'preview']) add(name);
const shared = new Set();
for (const kind of kinds) {
  add(`annotator-${kind}`, (key) =>
    key === 'src/annotator.ts' ? `src/annotator-${kind}.ts` : key,
  );
  shared.add(joined[SHARED].file);
}
// A page would run two of them, and open two sessions.
if (shared.size > 1) throw new Error(`The builds differ in ${SHARED}: ${[...shared].join(', ')}`);
writeFileSync(new URL('manifest.json', build), JSON.stringify(joined, null, 2));
