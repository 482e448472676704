import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [svelte()],
  base: '/static/build/',
  build: {
    outDir: '../app/static/build',
    emptyOutDir: true,
    manifest: 'manifest.json',
    // Swagger UI is one file; no other page loads it.
    chunkSizeWarningLimit: 1600,
    rollupOptions: {
      input: {
        'head-start': 'src/head-start.ts',
        annotator: 'src/annotator.ts',
        preview: 'src/preview.ts',
        dashboard: 'src/dashboard.ts',
      },
    },
  },
  test: {
    include: ['src/**/*.test.ts'],
    setupFiles: ['src/api/test-setup.ts'],
    environment: 'node',
  },
});
