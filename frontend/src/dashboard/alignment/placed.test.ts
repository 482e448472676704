import { afterEach, expect, it, vi } from 'vitest';
import type { Alignment } from '../../api/types';
import { RequestState } from '../../lib/request.svelte';
import { Alignments, placedText } from './alignments.svelte';

afterEach(() => void vi.unstubAllGlobals());

const alignment = (features: string, version: number) =>
  ({ id: features, features, model_version: version }) as Alignment;

it('names the features that were used, whatever is chosen or refused later', async () => {
  const alignments = new Alignments('c');
  const request = new RequestState();
  expect(placedText(alignments.placed)).toBe('');
  const file = new File(['pixels'], 'new.png');
  vi.stubGlobal('fetch', async () => Response.json({ model_version: 3, items: [{}, {}] }));
  await alignments.find(request, alignment('appearance', 3), [file, file]);
  expect(placedText(alignments.placed)).toBe('Placed 2 images by appearance.');
  expect(alignments.placed.version).toBe(3);

  // While others are placed, what is shown is still that of before.
  let answer: (response: Response) => void = () => undefined;
  vi.stubGlobal('fetch', () => new Promise<Response>((resolve) => (answer = resolve)));
  const finding = alignments.find(request, alignment('objects', 4), [file]);
  await vi.waitFor(() => expect(request.busy).toBe(true));
  expect(placedText(alignments.placed)).toBe('Placed 2 images by appearance.');
  await vi.waitFor(() => answer(Response.json({ model_version: 4, items: [{}] })));
  await vi.waitFor(() => expect(alignments.placed.version).toBe(4));
  await finding;
  expect(placedText(alignments.placed)).toBe('Placed 1 image by objects.');

  vi.stubGlobal('fetch', async () => Response.json({ detail: 'No.' }, { status: 409 }));
  await alignments.find(request, alignment('grey', 4), [file]);
  expect(alignments.placed.places).toEqual([]);
  expect(placedText(alignments.placed)).toBe('');
});
