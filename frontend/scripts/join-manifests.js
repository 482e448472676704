// The application reads one manifest of all builds (vite.config.ts). Written last, so that a build
// that failed has none. The preview has a copy of the annotators' page; that page's own entry counts.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';

const build = new URL('../../app/static/build/', import.meta.url);
const names = ['requesters.json', 'preview.json', 'annotators.json'];
const parts = names.map((name) => new URL(name, build));
const joined = Object.assign({}, ...parts.map((part) => JSON.parse(readFileSync(part, 'utf8'))));
writeFileSync(new URL('manifest.json', build), JSON.stringify(joined, null, 2));
for (const part of parts) rmSync(part);
