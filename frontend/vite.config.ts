import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

/** What is built together shares its modules. Annotators' pages are built by themselves: else they
 * load what only the dashboard uses of Svelte. `scripts/join-manifests.js` joins the builds. */
const BUILDS: Record<string, Record<string, string>> = {
  dashboard: { dashboard: 'src/dashboard.ts' },
  annotators: {
    'head-start': 'src/head-start.ts',
    annotator: 'src/annotator.ts',
    preview: 'src/preview.ts',
  },
};

export default defineConfig(({ mode }) => ({
  plugins: [svelte()],
  base: '/static/build/',
  build: {
    outDir: '../app/static/build',
    emptyOutDir: mode === 'dashboard',
    manifest: `${mode}.json`,
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
