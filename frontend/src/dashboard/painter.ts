/** Paints the map on a canvas; images are loaded once and painted as they arrive. */
import type { ModelMap } from '../api/types';
import { thumbnailSize, toScreen, type View } from './view';

export interface Scene {
  map: ModelMap;
  /** One per point, or empty. */
  colours: string[];
  view: View;
  width: number;
  height: number;
  /** Index of a point, −1 for none. */
  hovered: number;
  selected: number;
}

const ENLARGED = 2.4;

export class MapPainter {
  private readonly images = new Map<string, HTMLImageElement>();
  private scene: Scene | null = null;
  private frame = 0;

  constructor(private readonly canvas: HTMLCanvasElement) {}

  /** Paint with the next animation frame; only the last scene counts. */
  paint(scene: Scene): void {
    this.scene = scene;
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  private draw(): void {
    const { scene, canvas } = this;
    const context = canvas.getContext('2d');
    if (!scene || !context) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(scene.width * ratio);
    canvas.height = Math.round(scene.height * ratio);
    context.scale(ratio, ratio);
    const side = thumbnailSize(scene.view, scene.map.points.length);
    scene.map.points.forEach((_, index) => this.drawPoint(context, scene, index, side));
    for (const index of [scene.selected, scene.hovered]) {
      if (index >= 0) this.drawPoint(context, scene, index, ENLARGED * side);
    }
  }

  private drawPoint(
    context: CanvasRenderingContext2D,
    scene: Scene,
    index: number,
    side: number,
  ): void {
    const point = scene.map.points[index];
    if (!point) return;
    const { x, y } = toScreen(scene.view, point);
    const { width: w, height: h } = scene;
    if (x < -side || y < -side || x > w + side || y > h + side) return;
    const image = this.imageOf(point.url);
    const colour = scene.colours[index] ?? (index === scene.selected ? '#2c5cc5' : null);
    if (image.complete && image.naturalWidth > 0) {
      const shrink = side / Math.max(image.naturalWidth, image.naturalHeight);
      const width = image.naturalWidth * shrink;
      const height = image.naturalHeight * shrink;
      context.drawImage(image, x - width / 2, y - height / 2, width, height);
    }
    if (colour) {
      context.strokeStyle = colour;
      context.lineWidth = index === scene.selected ? 4 : 2.5;
      context.strokeRect(x - side / 2, y - side / 2, side, side);
    }
  }

  private imageOf(url: string): HTMLImageElement {
    const known = this.images.get(url);
    if (known) return known;
    const image = new Image();
    image.addEventListener('load', () => this.scene && this.paint(this.scene));
    image.src = url;
    this.images.set(url, image);
    return image;
  }
}
