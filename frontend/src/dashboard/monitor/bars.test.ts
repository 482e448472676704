import { describe, expect, it } from 'vitest';
import { barName, endName, everyBar } from './bars';

const bar = (at: string, answers: number) => ({ at, answers, annotators: 1 });

describe('bars', () => {
  it('fill the minutes in which nobody answered', () => {
    const all = everyBar('minute', [
      bar('2026-11-21T10:00:00Z', 3),
      bar('2026-11-21T10:20:00Z', 5),
    ]);
    expect(all.length).toBe(21);
    expect([all[0]?.answers, all[1]?.answers, all[20]?.answers]).toEqual([3, 0, 5]);
  });

  it('begin early enough to be told apart', () => {
    const all = everyBar('hour', [bar('2026-11-21T10:00:00Z', 3)]);
    expect(all.length).toBe(12);
    expect(all.at(-1)?.answers).toBe(3);
  });

  it('are none without answers', () => {
    expect(everyBar('day', [])).toEqual([]);
  });
});

describe('the end of a campaign', () => {
  it('is a time today, or a day', () => {
    const now = new Date(2026, 10, 21, 9, 0);
    // One clock on all pages, whatever the browser's language is.
    expect(endName(new Date(2026, 10, 21, 18, 30).toISOString(), now)).toBe('today 18:30');
    expect(endName(new Date(2026, 10, 24, 18, 30).toISOString(), now)).toBe('Tue 24 Nov, 18:30');
    expect(barName('hour', new Date(2026, 10, 24, 18, 0))).toBe('18:00');
  });
});
