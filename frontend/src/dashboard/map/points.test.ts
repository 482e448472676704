import { describe, expect, it } from 'vitest';
import { isInside, wellSpread } from './lasso';
import { parseLayout } from './layout';
import { PointIndex } from './points';

/** Repeatable numbers in [0, 1). */
function random(seed: number): () => number {
  return () => (seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}

function somePlaces(n: number): Float32Array {
  const next = random(7);
  return Float32Array.from({ length: 2 * n }, () => next() ** 2);
}

const places = somePlaces(3_000);
const index = new PointIndex(places);
const each = [...Array(3_000).keys()];

describe('the index of points', () => {
  it('holds every image once', () => {
    expect([...index.order].sort((a, b) => a - b)).toEqual(each);
  });

  it('finds what a look at every point finds: in a box', () => {
    const box = { left: 0.1, top: 0.02, right: 0.35, bottom: 0.4 };
    const expected = each.filter((i) => {
      const [x, y] = [places[2 * i]!, places[2 * i + 1]!];
      return x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
    });
    expect(index.within(box)!.sort((a, b) => a - b)).toEqual(expected);
    expect(index.within(box, expected.length)).toHaveLength(expected.length);
    expect(index.within(box, expected.length - 1)).toBeNull();
    const listed = index.ranges(box).reduce((sum, [, count]) => sum + count, 0);
    expect(listed).toBeGreaterThanOrEqual(expected.length);
    expect(listed).toBeLessThan(3_000);
  });

  it('finds the nearest within the radius only', () => {
    const next = random(3);
    for (let k = 0; k < 50; k++) {
      const at = { x: next(), y: next() };
      const far = each.map((i) => Math.hypot(places[2 * i]! - at.x, places[2 * i + 1]! - at.y));
      const best = far.indexOf(Math.min(...far));
      expect(index.nearest(at, 0.03)).toBe(far[best]! <= 0.03 ? best : -1);
    }
  });

  it('draws all in one piece when all is in view', () => {
    expect(index.ranges({ left: -1, top: -1, right: 2, bottom: 2 })).toEqual([[0, 3_000]]);
    expect(index.ranges({ left: -3, top: -3, right: -2, bottom: -2 })[0]?.[1] ?? 0).toBeLessThan(
      3_000,
    );
  });

  it('takes images that all lie in one place', () => {
    const one = new PointIndex(new Float32Array(200).fill(0.5));
    expect(one.within({ left: 0.5, top: 0.5, right: 0.5, bottom: 0.5 })).toHaveLength(100);
    expect(one.spacing).toBeGreaterThan(0);
  });
});

describe('the lasso', () => {
  const star = [
    { x: 0.5, y: 0 }, { x: 0.6, y: 0.4 }, { x: 1, y: 0.4 }, { x: 0.7, y: 0.6 }, { x: 0.8, y: 1 },
    { x: 0.5, y: 0.75 }, { x: 0.2, y: 1 }, { x: 0.3, y: 0.6 }, { x: 0, y: 0.4 }, { x: 0.4, y: 0.4 },
  ]; // prettier-ignore

  it('tells inside from outside, also in the notches of a star', () => {
    expect(isInside(star, 0.5, 0.5)).toBe(true);
    expect(isInside(star, 0.5, 0.1)).toBe(true);
    expect(isInside(star, 0.3, 0.2)).toBe(false);
    expect(isInside(star, 0.5, 0.9)).toBe(false);
  });

  it('encloses what lies inside, in order', () => {
    const inside = each.filter((i) => isInside(star, places[2 * i]!, places[2 * i + 1]!));
    expect(inside.length).toBeGreaterThan(100);
    expect(index.inside(star)).toEqual(inside);
    expect(index.inside(star.slice(0, 2))).toEqual([]);
  });

  it('thins a large selection to the images seen from furthest away', () => {
    const levels = Uint8Array.from([3, 0, 1, 1, 255, 0]);
    expect(wellSpread([0, 1, 2, 4, 5], levels, 3)).toEqual([1, 2, 5]);
    expect(wellSpread([4, 0], levels, 3)).toEqual([4, 0]);
  });
});

describe('the layout', () => {
  it('is read as the server writes it', () => {
    const bytes = new ArrayBuffer(8 + 9 * 2);
    const view = new DataView(bytes);
    [...'LWM1'].forEach((letter, k) => view.setUint8(k, letter.charCodeAt(0)));
    view.setUint32(4, 2, true);
    [0.25, 0.5, 1, 0].forEach((value, k) => view.setFloat32(8 + 4 * k, value, true));
    view.setUint8(24, 3);
    view.setUint8(25, 255);
    const layout = parseLayout({ version: 4, method: 'pca' }, bytes);
    expect([...layout.places]).toEqual([0.25, 0.5, 1, 0]);
    expect([layout.n, ...layout.tiles.levels]).toEqual([2, 3, 255]);
    expect(() => parseLayout({ version: 4, method: 'pca' }, bytes.slice(1))).toThrow('not valid');
  });
});
