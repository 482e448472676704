// The annotator's page has to open on a slow phone: entry, shared chunks and all, below the limit.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

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

let bytes = 0;
for (const key of scriptsOf('src/annotator.ts')) {
  bytes += gzipSync(readFileSync(new URL(manifest[key].file, build))).length;
}
console.log(`annotator: ${(bytes / 1000).toFixed(1)} kB of JavaScript, compressed`);
if (bytes >= LIMIT) {
  console.error(`annotator: more than ${LIMIT / 1000} kB`);
  process.exit(1);
}
