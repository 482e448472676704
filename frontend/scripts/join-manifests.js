// One manifest of both builds (vite.config.ts), written last: a build that failed has none.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';

const build = new URL('../../app/static/build/', import.meta.url);
const parts = ['dashboard.json', 'annotators.json'].map((name) => new URL(name, build));
const joined = Object.assign({}, ...parts.map((part) => JSON.parse(readFileSync(part, 'utf8'))));
writeFileSync(new URL('manifest.json', build), JSON.stringify(joined, null, 2));
for (const part of parts) rmSync(part);
