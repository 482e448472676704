import { describe, expect, it } from 'vitest';
import { batchesOf, MAX_BYTES, MAX_FILES } from './batches';

const file = (name: string, size = 10) => ({ name, size });

describe('batches of an upload', () => {
  it('sends tables last and an archive alone', () => {
    const sent = batchesOf([file('a.png'), file('t.csv'), file('b.zip'), file('c.png')]);
    expect(sent.map((batch) => batch.map((one) => one.name))).toEqual([
      ['a.png'],
      ['b.zip'],
      ['c.png'],
      ['t.csv'],
    ]);
  });

  it('keeps every batch within its limits and loses no file', () => {
    const files = Array.from({ length: 95 }, (_, k) => file(`${k}.png`, (k % 7) * 2 ** 20));
    const sent = batchesOf(files);
    expect(sent.flat()).toEqual(files);
    for (const batch of sent) {
      expect(batch.length).toBeLessThanOrEqual(MAX_FILES);
      expect(batch.reduce((sum, one) => sum + one.size, 0)).toBeLessThanOrEqual(MAX_BYTES);
    }
  });

  it('sends a file that is larger than a batch by itself', () => {
    expect(batchesOf([file('a.png'), file('big.png', MAX_BYTES + 1)]).length).toBe(2);
  });
});
