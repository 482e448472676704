import { describe, expect, it } from 'vitest';
import { MAX_BYTES, MAX_FILES, takeBatch } from './batches';

const file = (name: string, size = 10) => ({ name, size });

function allBatches(files: { name: string; size: number }[]) {
  const ready = [...files];
  const batches = [];
  while (ready.length > 0) batches.push(takeBatch(ready));
  return batches;
}

describe('batches of an upload', () => {
  it('keeps every batch within its limits and loses no file', () => {
    const files = Array.from({ length: 95 }, (_, k) => file(`${k}.png`, (k % 7) * 2 ** 20));
    const sent = allBatches(files);
    expect(sent.flat()).toEqual(files);
    for (const batch of sent) {
      expect(batch.length).toBeLessThanOrEqual(MAX_FILES);
      expect(batch.reduce((sum, one) => sum + one.size, 0)).toBeLessThanOrEqual(MAX_BYTES);
    }
  });

  it('sends a file that is larger than a batch by itself', () => {
    expect(allBatches([file('a.png'), file('big.png', MAX_BYTES + 1), file('b.png')])).toHaveLength(
      3,
    );
  });

  it('puts files of one name into different batches', () => {
    const sent = allBatches([file('1.png'), file('1.png'), file('2.png'), file('1.png')]);
    expect(sent.map((batch) => batch.map((one) => one.name))).toEqual([
      ['1.png', '2.png'],
      ['1.png'],
      ['1.png'],
    ]);
  });
});
