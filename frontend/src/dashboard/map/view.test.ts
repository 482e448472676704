import { describe, expect, it } from 'vitest';
import { between, fit, inView, isSame, pan, toScreen, toWorld, zoomAt } from './view';

const ALL = { left: 0, top: 0, right: 1, bottom: 1 };
const SCREEN = { width: 800, height: 600 };

describe('the view of the map', () => {
  it('fits a box into the canvas with a margin, in the middle', () => {
    const view = fit(ALL, SCREEN, 50);
    expect(toScreen(view, { x: 0, y: 0 })).toEqual({ x: 150, y: 50 });
    expect(toScreen(view, { x: 1, y: 1 })).toEqual({ x: 650, y: 550 });
    const flat = fit({ left: 0.2, top: 0.5, right: 0.7, bottom: 0.5 }, SCREEN, 50);
    expect(toScreen(flat, { x: 0.2, y: 0.5 }).x).toBeCloseTo(50);
  });

  it('fits images that all lie in one place', () => {
    const view = fit({ left: 0.3, top: 0.3, right: 0.3, bottom: 0.3 }, SCREEN, 50);
    const at = toScreen(view, { x: 0.3, y: 0.3 });
    expect(at.x).toBeCloseTo(400);
    expect(at.y).toBeCloseTo(300);
  });

  it('keeps the place under the pointer when zooming', () => {
    const view = pan(fit(ALL, SCREEN, 50), 30, -20);
    const at = toScreen(view, { x: 0.3, y: 0.7 });
    const closer = toScreen(zoomAt(view, 3, at), { x: 0.3, y: 0.7 });
    expect(closer.x).toBeCloseTo(at.x);
    expect(closer.y).toBeCloseTo(at.y);
  });

  it('keeps the place under the pointer on the whole way of a smooth zoom', () => {
    const from = fit(ALL, SCREEN, 50);
    const at = { x: 620, y: 80 };
    const place = toWorld(from, at);
    const to = zoomAt(from, 8, at);
    for (const share of [0.2, 0.5, 0.9, 1]) {
      const now = toScreen(between(from, to, share, SCREEN), place);
      expect(now.x).toBeCloseTo(at.x, 4);
      expect(now.y).toBeCloseTo(at.y, 4);
    }
  });

  it('comes to rest', () => {
    let view = fit(ALL, SCREEN, 50);
    const to = pan(zoomAt(view, 20, { x: 10, y: 590 }), 300, -100);
    let steps = 0;
    while (!isSame(view, to) && steps < 200) {
      view = between(view, to, 0.2, SCREEN);
      steps += 1;
    }
    expect(steps).toBeLessThan(100);
  });

  it('knows which part of the world is on the screen', () => {
    const box = inView(fit(ALL, SCREEN, 50), SCREEN);
    expect(box.left).toBeCloseTo(-0.3);
    expect(box.bottom).toBeCloseTo(1.1);
  });
});
