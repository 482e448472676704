import { expect, it } from 'vitest';
import { isQuick } from './quick.svelte';

it.each([
  [7199, 24, 0.3, true],
  [7200, 24, 0.3, false],
  [0, 24, 0, false],
  [100, 0, 0.3, false],
])('%d ms for %d images with %d s each', (milliseconds, images, each, quick) =>
  expect(isQuick(milliseconds, images, each)).toBe(quick),
);
