import { describe, expect, it } from 'vitest';
import { choose } from './choose';
import { PointIndex } from './points';
import { withoutPiles } from './spread';
import { CELLS, levelFor, N_LEVELS, PictureTiles } from './tiles';
import { fit, zoomAt } from './view';

const SCREEN = { width: 800, height: 600 };

/** As the server deals levels: a picture of its own for the first image of every free cell. */
function levelsOf(places: Float32Array): Uint8Array {
  const levels = new Uint8Array(places.length / 2).fill(255);
  for (let level = 0; level < N_LEVELS; level++) {
    const side = CELLS << level;
    const cell = (i: number) =>
      Math.floor(places[2 * i + 1]! * side) * side + Math.floor(places[2 * i]! * side);
    const taken = new Set<number>();
    levels.forEach((dealt, i) => dealt !== 255 && taken.add(cell(i)));
    for (let i = 0; i < levels.length; i++) {
      if (levels[i] !== 255 || taken.has(cell(i))) continue;
      levels[i] = level;
      taken.add(cell(i));
    }
  }
  return levels;
}

function aLayout(n: number) {
  let seed = 5;
  const next = () => (seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  const places = Float32Array.from({ length: 2 * n }, next);
  const tiles = new PictureTiles(places, levelsOf(places));
  return { version: 1, method: 'pca' as const, n, places, index: new PointIndex(places), tiles };
}

const large = aLayout(20_000);
const all = fit(large.index.bounds, SCREEN, 30);
const stay = (image: number): [number, number] => [
  large.places[2 * image]!,
  large.places[2 * image + 1]!,
];

describe('which images are pictures', () => {
  it('shows a well-spread part from far away, and no piles', () => {
    const { detail, images, xs, ys, side } = choose(large, all, SCREEN, 'medium', null, stay);
    expect(detail).toBe('far');
    expect(images.length).toBeGreaterThan(80);
    expect(images.length).toBeLessThan(600);
    for (let a = 0; a < images.length; a++) {
      for (let b = 0; b < a; b++) {
        const apart = Math.max(Math.abs(xs[a]! - xs[b]!), Math.abs(ys[a]! - ys[b]!));
        expect(apart).toBeGreaterThanOrEqual(1.15 * side - 1e-3);
      }
    }
    // In every ninth of the map.
    const parts = new Set(
      images.map((i) =>
        stay(i)
          .map((at) => Math.floor(at * 3))
          .join(),
      ),
    );
    expect(parts.size).toBe(9);
  });

  it('is the same for the same view, and keeps its pictures when zooming in', () => {
    const once = choose(large, all, SCREEN, 'medium', null, stay).images;
    expect(choose(large, all, SCREEN, 'medium', null, stay).images).toEqual(once);
    const middle = { x: 400, y: 300 };
    const nearer = new Set(
      choose(large, zoomAt(all, 1.2, middle), SCREEN, 'medium', null, stay).images,
    );
    const inMiddle = once.filter((i) => stay(i).every((at) => Math.abs(at - 0.5) < 0.3));
    const kept = inMiddle.filter((i) => nearer.has(i));
    expect(kept.length / inMiddle.length).toBeGreaterThan(0.8);
  });

  it('shows every image in view when there are few', () => {
    const close = zoomAt(all, 12, { x: 400, y: 300 });
    const { detail, images, side } = choose(large, close, SCREEN, 'medium', null, stay);
    expect(detail).toBe('near');
    expect(side).toBeGreaterThan(34);
    expect(images.length).toBeGreaterThan(50);
    expect(images.length).toBeLessThanOrEqual(400);
  });

  it('shows only the selected one when dots are wanted', () => {
    const { detail, images } = choose(large, all, SCREEN, 'none', 17, stay);
    expect([detail, images]).toEqual(['dots', [17]]);
    expect(choose(large, all, SCREEN, 'medium', 17, stay).images[0]).toBe(17);
  });
});

it('keeps the first of a pile', () => {
  expect(withoutPiles([0, 5, 100, 9.9], [0, 5, 0, 20], 20, 0.5)).toEqual([0, 2, 3]);
});

describe('tiles', () => {
  it('finds every picture on the sheet of its tile, one a cell', () => {
    const seen = new Set<string>();
    for (let i = 0; i < large.n; i++) {
      const tile = large.tiles.tileOf(i);
      if (!tile) continue;
      expect(large.tiles.images(tile)).toContain(i);
      const [column, row] = large.tiles.placeOnSheet(i);
      seen.add(JSON.stringify([tile, column, row]));
    }
    expect(seen.size).toBe(large.n - large.tiles.levels.filter((level) => level === 255).length);
  });

  it('takes finer levels when zoomed in, within bounds', () => {
    expect(levelFor(400, 50)).toBe(0);
    expect(levelFor(800, 50)).toBe(1);
    expect(levelFor(1e9, 50)).toBe(N_LEVELS - 1);
    expect(levelFor(10, 50)).toBe(0);
  });
});
