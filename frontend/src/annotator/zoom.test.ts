import { describe, expect, it } from 'vitest';
import {
  clamped,
  covering,
  largestZoom,
  moved,
  type Scene,
  stepped,
  switched,
  type View,
  WHOLE,
  zoomed,
} from './zoom';

const frame = { width: 600, height: 600 };
const square: Scene = { frame, image: { width: 300, height: 300 } };
const wide: Scene = { frame, image: { width: 1200, height: 600 } };
const banner: Scene = { frame, image: { width: 6000, height: 80 } };
const column: Scene = { frame, image: { width: 80, height: 6000 } };
const MIDDLE = { x: 0, y: 0 };

/** The part of the image, from -0.5 to 0.5 of its width, that lies at x in the frame. */
const under = (view: View, x: number): number => (x - view.x) / (600 * view.zoom);

describe('limits', () => {
  it('are the whole image and eight times that', () => {
    expect(zoomed(WHOLE, 0.1, MIDDLE, square).zoom).toBe(1);
    expect(zoomed(WHOLE, 100, MIDDLE, square).zoom).toBe(8);
  });

  it('reach as far as the pixels of the image', () => {
    expect(largestZoom({ frame, image: { width: 9000, height: 9000 } })).toBe(15);
  });

  it.each([banner, column])('let the short side of a very long image fill the frame', (scene) => {
    expect(covering(scene)).toBeCloseTo(75);
    const view = zoomed(WHOLE, 1000, MIDDLE, scene);
    expect((view.zoom * 600 * 80) / 6000).toBeCloseTo(600);
  });
});

describe('zooming about a point', () => {
  it('keeps what is there', () => {
    const at = { x: 120, y: -90 };
    let view: View = WHOLE;
    for (const factor of [2, 1.5, 0.9]) {
      const before = under(view, at.x);
      view = zoomed(view, factor, at, square);
      expect(under(view, at.x)).toBeCloseTo(before);
    }
  });

  it('comes back to the whole image in its middle', () => {
    const view = zoomed(zoomed(WHOLE, 4, { x: 300, y: 300 }, square), 0.01, MIDDLE, square);
    expect(view.zoom).toBe(1);
    expect(Math.abs(view.x) + Math.abs(view.y)).toBe(0);
  });
});

describe('moving', () => {
  it('ends at the edges of the image', () => {
    const near = zoomed(WHOLE, 2, MIDDLE, square);
    expect(moved(near, 1e6, -1e6, square)).toEqual({ zoom: 2, x: 300, y: -300 });
    expect(moved(near, 40, 0, square)).toEqual({ zoom: 2, x: 40, y: 0 });
  });

  it('is not possible where all is in view', () => {
    expect(moved(WHOLE, 50, 50, square)).toEqual(WHOLE);
    // Twice as wide as high: at zoom 2 it is as high as the frame.
    const view = moved(zoomed(WHOLE, 2, MIDDLE, wide), 50, 50, wide);
    expect(view).toEqual({ zoom: 2, x: 50, y: 0 });
  });

  it('is limited again when the frame becomes another one', () => {
    const view = moved(zoomed(WHOLE, 2, MIDDLE, square), 300, 0, square);
    const small = { ...square, frame: { width: 200, height: 200 } };
    expect(clamped(view, small)).toEqual({ zoom: 2, x: 100, y: 0 });
  });
});

describe('steps', () => {
  it('go up and down through the same values', () => {
    const up = [1];
    while (up.at(-1)! < 8) up.push(stepped(up.at(-1)!, 1));
    expect(up).toEqual([1, 1.5, 2, 3, 4, 6, 8]);
    const down = [8];
    while (down.at(-1)! > 1) down.push(stepped(down.at(-1)!, -1));
    expect(down).toEqual([...up].reverse());
  });

  it('lead from anywhere to the next one', () => {
    expect(stepped(1.7, 1)).toBe(2);
    expect(stepped(1.7, -1)).toBe(1.5);
    expect(stepped(75, 1)).toBe(96);
  });
});

describe('a double click', () => {
  it('leads closer and back', () => {
    const view = switched(WHOLE, { x: 100, y: 0 }, square);
    expect(view).toEqual({ zoom: 2, x: -100, y: 0 });
    expect(switched(view, MIDDLE, square)).toEqual(WHOLE);
  });

  it('lets a very long image fill the frame', () => {
    expect(switched(WHOLE, { x: 300, y: 0 }, banner).zoom).toBeCloseTo(75);
  });
});
