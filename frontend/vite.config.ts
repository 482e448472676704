import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// Built one by one (`--mode`, see package.json): in one build, modules that two of them share would
// carry what only the other needs to slow phones.
const BUILDS: Record<string, Record<string, string>> = {
  requesters: { dashboard: 'src/dashboard.ts' },
  preview: { preview: 'src/preview.ts' },
  annotators: { 'head-start': 'src/head-start.ts', annotator: 'src/annotator.ts' },
};

export default defineConfig(({ mode }) => ({
  plugins: [svelte()],
  base: '/static/build/',
  build: {
    outDir: '../app/static/build',
    emptyOutDir: mode === 'requesters',
    manifest: `${mode}.json`,
    // Browsers that do not know these hints load modules a little later.
    modulePreload: { polyfill: false },
    // Swagger UI is one file; no other page loads it.
    chunkSizeWarningLimit: 1600,
    rollupOptions: { input: BUILDS[mode] ?? {} },
  },
  test: {
    include: ['src/**/*.test.ts'],
    setupFiles: ['src/api/test-setup.ts'],
    environment: 'node',
  },
}));
