// The annotators' page has to open on a slow phone: what a campaign of any one kind loads, entry,
// shared chunks and all, is below the limit.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { kinds } from './kinds.js';

const LIMIT = 60_000;
const build = new URL('../../app/static/build/', import.meta.url);
const manifest = JSON.parse(readFileSync(new URL('manifest.json', build), 'utf8'));

function scriptsOf(key, seen = new Set()) {
  if (seen.has(key)) return seen;
  seen.add(key);
  const { imports = [], dynamicImports = [] } = manifest[key];
  for (const next of [...imports, ...dynamicImports]) scriptsOf(next, seen);
  return seen;
}

function bytesOf(kind) {
  const files = [...scriptsOf(`src/annotator-${kind}.ts`)].map((key) => manifest[key].file);
  const sizes = files.map((file) => gzipSync(readFileSync(new URL(file, build))).length);
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

const sizes = kinds.map((kind) => [kind, bytesOf(kind)]);
console.log("JavaScript of the annotators' page, compressed:");
for (const [kind, bytes] of sizes) console.log(`  ${kind}: ${(bytes / 1000).toFixed(1)} kB`);
const largest = Math.max(...sizes.map(([, bytes]) => bytes));
if (largest >= LIMIT) {
  console.error(`annotator: more than ${LIMIT / 1000} kB`);
  process.exit(1);
}
