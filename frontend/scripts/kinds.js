// The kinds of task that the annotators' page knows: those with a folder.
import { existsSync, readdirSync } from 'node:fs';

const folder = new URL('../src/annotator/kinds/', import.meta.url);
export const kinds = readdirSync(folder)
  .filter((name) => existsSync(new URL(`${name}/index.ts`, folder)))
  .sort();
