import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

const VIRTUAL = 'virtual:kinds';
const ANNOTATORS = 'annotator-';

// Built one by one (`--mode`, see scripts/build.js): in one build, modules that two of them share
// would carry what only the other needs to slow phones.
const BUILDS: Record<string, Record<string, string>> = {
  requesters: { dashboard: 'src/dashboard.ts' },
  sheet: { sheet: 'src/sheet.ts' },
  posted: { posted: 'src/posted.ts' },
  preview: { preview: 'src/preview.ts' },
};

/** The entries of a build: for each kind of task, the annotators' page has a build of its own. */
function entriesOf(mode: string): Record<string, string> {
  if (!mode.startsWith(ANNOTATORS)) return BUILDS[mode] ?? {};
  return { 'head-start': 'src/head-start.ts', [mode]: 'src/annotator.ts' };
}

/** The kinds of task that a build knows. */
function kinds(mode: string): Plugin {
  const folder = mode.startsWith(ANNOTATORS) ? mode.slice(ANNOTATORS.length) : '*';
  const found = `import.meta.glob('/src/annotator/kinds/${folder}/index.ts', { eager: true, import: 'kind' })`;
  return {
    name: 'kinds',
    resolveId: (id) => (id === VIRTUAL ? `\0${VIRTUAL}` : undefined),
    load: (id) => (id === `\0${VIRTUAL}` ? `export default Object.values(${found});` : undefined),
  };
}

export default defineConfig(({ mode }) => ({
  plugins: [kinds(mode), svelte()],
  base: '/static/build/',
  build: {
    outDir: '../app/static/build',
    emptyOutDir: mode === 'requesters',
    manifest: `${mode}.json`,
    // Browsers that do not know these hints load modules a little later.
    modulePreload: { polyfill: false },
    // Swagger UI is one file; no other page loads it.
    chunkSizeWarningLimit: 1600,
    rollupOptions: { input: entriesOf(mode) },
  },
  test: {
    include: ['src/**/*.test.ts'],
    setupFiles: ['src/api/test-setup.ts'],
    environment: 'node',
  },
}));
