import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// Built apart (`--mode annotators`, see package.json): in one build, a chunk that both share would
// carry what only requesters' pages need to slow phones.
const ANNOTATORS = {
  'head-start': 'src/head-start.ts',
  annotator: 'src/annotator.ts',
  preview: 'src/preview.ts',
};
const REQUESTERS = { dashboard: 'src/dashboard.ts' };

export default defineConfig(({ mode }) => ({
  plugins: [svelte()],
  base: '/static/build/',
  build: {
    outDir: '../app/static/build',
    // The annotators' pages are built first.
    emptyOutDir: mode === 'annotators',
    manifest: mode === 'annotators' ? 'manifest-annotators.json' : 'manifest.json',
    // Browsers that do not know these hints load modules a little later.
    modulePreload: { polyfill: false },
    // Swagger UI is one file; no other page loads it.
    chunkSizeWarningLimit: 1600,
    rollupOptions: { input: mode === 'annotators' ? ANNOTATORS : REQUESTERS },
  },
  test: {
    include: ['src/**/*.test.ts'],
    setupFiles: ['src/api/test-setup.ts'],
    environment: 'node',
  },
}));
