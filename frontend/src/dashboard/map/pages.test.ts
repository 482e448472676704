import { describe, expect, it } from 'vitest';
import { Pages } from './pages';

describe('pages of pictures', () => {
  it('puts sixteen small pictures on a page, none upon another', () => {
    const pages = new Pages(4);
    const slots = Array.from({ length: 17 }, (_, k) => pages.place('small', `small/${k}`, 1)!);
    expect(new Set(slots.map((slot) => JSON.stringify(slot))).size).toBe(17);
    expect(slots.filter(({ page }) => page === 0)).toHaveLength(16);
    expect(Math.max(...slots.map(({ x, y }) => Math.max(x, y)))).toBe(384);
  });

  it('gives away what was not looked at for longest, never what is in this frame', () => {
    const pages = new Pages(2);
    pages.place('sheet', 'a', 1);
    pages.place('sheet', 'b', 2);
    pages.find('a', 3);
    expect(pages.place('sheet', 'c', 3)).toBeDefined();
    expect([pages.has('a'), pages.has('b'), pages.has('c')]).toEqual([true, false, true]);
    expect(pages.place('sheet', 'd', 3)).toBeUndefined();
    expect(pages.place('thumb', 'e', 4)).toBeDefined();
    expect(pages.has('a')).toBe(false);
  });
});
