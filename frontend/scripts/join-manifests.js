// The application reads one manifest of both builds (vite.config.ts).
import { readFileSync, rmSync, writeFileSync } from 'node:fs';

const build = new URL('../../app/static/build/', import.meta.url);
const [all, annotators] = ['manifest.json', 'manifest-annotators.json'].map(
  (name) => new URL(name, build),
);
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const joined = { ...read(all), ...read(annotators) };
writeFileSync(all, JSON.stringify(joined, null, 2));
rmSync(annotators);
