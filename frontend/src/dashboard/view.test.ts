import { describe, expect, it } from 'vitest';
import { fit, nearest, pan, thumbnailSize, toScreen, zoomAt } from './view';

describe('the view of the map', () => {
  it('fits the unit square into the canvas with a margin', () => {
    const view = fit(800, 600, 50);
    expect(toScreen(view, { x: 0, y: 0 })).toEqual({ x: 150, y: 50 });
    expect(toScreen(view, { x: 1, y: 1 })).toEqual({ x: 650, y: 550 });
  });

  it('keeps the place under the pointer when zooming', () => {
    const view = pan(fit(800, 600, 50), 30, -20);
    const at = toScreen(view, { x: 0.3, y: 0.7 });
    const closer = toScreen(zoomAt(view, 3, at), { x: 0.3, y: 0.7 });
    expect(closer.x).toBeCloseTo(at.x);
    expect(closer.y).toBeCloseTo(at.y);
  });

  it('finds the nearest point within the radius only', () => {
    const view = fit(100, 100, 0);
    const points = [
      { x: 0.1, y: 0.1 },
      { x: 0.9, y: 0.9 },
    ];
    expect(nearest(points, view, { x: 85, y: 88 }, 20)).toBe(1);
    expect(nearest(points, view, { x: 50, y: 50 }, 20)).toBe(-1);
  });

  it('shows larger thumbnails when there are fewer', () => {
    const view = fit(800, 800, 0);
    expect(thumbnailSize(view, 50)).toBeGreaterThan(thumbnailSize(view, 5000));
  });
});
