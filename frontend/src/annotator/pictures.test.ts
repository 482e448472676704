import { describe, expect, it, vi } from 'vitest';
import { Pictures, sizesFor, splitBundle } from './pictures';

function bundle(...parts: number[][]): ArrayBuffer {
  const bytes = parts.flatMap((part) => [part.length, 0, 0, 0, ...part]);
  return new Uint8Array(bytes).buffer;
}

describe('splitBundle', () => {
  it('gives the bytes of each image, none for a missing one', () => {
    const parts = splitBundle(bundle([1, 2, 3], [], [4]));
    expect(parts.map((part) => [...new Uint8Array(part)])).toEqual([[1, 2, 3], [], [4]]);
    expect(splitBundle(new ArrayBuffer(0))).toEqual([]);
  });
});

describe('sizesFor', () => {
  it('fetches larger images only where they are seen', () => {
    expect(sizesFor(84, 1)).toEqual(['small']);
    expect(sizesFor(84, 3)).toEqual(['small', 'thumb']);
    expect(sizesFor(200, 1)).toEqual(['small', 'thumb']);
  });
});

describe('Pictures', () => {
  it('fetches each size of each grid once, and again after a failure', async () => {
    const fetchBundle = vi
      .fn()
      .mockRejectedValueOnce(new Error('offline'))
      .mockResolvedValue(bundle([1], []));
    const pictures = new Pictures(fetchBundle);
    await expect(pictures.of('one', 'small')).rejects.toThrow('offline');
    const [first, second] = await pictures.of('one', 'small');
    expect(first).toMatch(/^blob:/);
    expect(second).toBeNull();
    await pictures.of('one', 'small');
    expect(fetchBundle).toHaveBeenCalledTimes(2);
    pictures.expect('two', 'small', Promise.reject(new Error('lost')));
    await expect(pictures.of('two', 'small')).resolves.toHaveLength(2);
    expect(fetchBundle).toHaveBeenCalledTimes(3);
    pictures.keepOnly([]);
    await pictures.of('one', 'small');
    expect(fetchBundle).toHaveBeenCalledTimes(4);
  });
});
