/**
 * The map's clock and memory: what is seen, where it moves, which pictures are wanted. Paints only
 * when something has changed, and does a bounded amount of work in a frame.
 */
import { choose, dotStyle, type Choice, type Density } from './choose';
import { CanvasSurface } from './canvas2d';
import type { Colouring } from './colouring';
import type { Layout } from './layout';
import { PictureLayer, type Style } from './pictures';
import { CHOSEN, inOrder, type Surface } from './surface';
import { paletteOf, readTheme, type Theme } from './theme';
import { between, fit, isSame, toWorld, type Point, type Size, type View } from './view';
import { WebGLSurface } from './webgl';

export interface Drawn extends Choice {
  view: View;
  size: Size;
  version: number;
  /** Pictures painted; those on their way are dots still. */
  nPictures: number;
  /** Nothing moves and nothing is awaited. */
  settled: boolean;
  surface: Surface['kind'];
}

const MARGIN = 30;
/** A dot is hit within so many pixels. */
const REACH = 10;
/** Milliseconds: a step of zoom, and the way from model to model. */
const ZOOM_MS = 70;
const MOVE_MS = 750;
/** How much is seen of pictures outside the selection, or whose colour is dimmed. */
const FAINT = 0.2;

export class MapEngine {
  readonly surface: Surface;
  drawn: Drawn | null = null;
  private readonly pictures: PictureLayer;
  private readonly still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  private theme: Theme;
  private layout: Layout | null = null;
  private before: Float32Array | null = null;
  private moveBegan = 0;
  private view: View = { scale: 1, x: 0, y: 0 };
  private target: View = this.view;
  private size: Size = { width: 0, height: 0 };
  private density: Density = 'medium';
  private colouring: Colouring | null = null;
  private chosen: ReadonlySet<number> = new Set();
  private dimmed: ReadonlySet<number> = new Set();
  private selected: number | null = null;
  private frame = 0;
  private last = 0;
  /** The person has chosen the view: a resize or another model must not take it away. */
  private held = false;

  /** Raises Error where the canvas can be painted in no way. */
  constructor(
    private readonly canvas: HTMLCanvasElement,
    campaignId: string,
    nImages: number,
    flat: boolean,
    private readonly onDrawn: (drawn: Drawn) => void,
  ) {
    const nPages = Math.min(Math.max(Math.ceil(nImages / 12) + 16, 24), 96);
    const surface = (flat ? null : WebGLSurface.of(canvas, nPages)) ?? CanvasSurface.of(canvas);
    if (!surface) throw new Error('This browser cannot draw the map.');
    this.surface = surface;
    this.pictures = new PictureLayer(surface, nPages, campaignId, () => this.soon());
    this.theme = readTheme(canvas);
  }

  destroy(): void {
    cancelAnimationFrame(this.frame);
    this.frame = -1;
    this.pictures.close();
    this.surface.destroy();
  }

  /** Another model, or another layout of it: images move from where they are. */
  setLayout(layout: Layout): void {
    const moves = this.layout && this.layout !== layout && !this.still;
    this.before = moves ? this.placesNow() : null;
    this.moveBegan = performance.now();
    this.layout = layout;
    this.surface.setPoints(layout.index, this.before && inOrder(layout.index, this.before));
    this.recolour();
    if (!this.held) this.showAll(!moves);
    this.soon();
  }

  setColours(colouring: Colouring, dimmed: ReadonlySet<number>, chosen: ReadonlySet<number>): void {
    this.colouring = colouring;
    this.chosen = chosen;
    this.dimmed = dimmed;
    this.recolour();
    this.soon();
  }

  setSelected(selected: number | null): void {
    this.selected = selected;
    this.soon();
  }

  setDensity(density: Density): void {
    this.density = density;
    this.soon();
  }

  resize(size: Size): void {
    const ratio = this.ratio;
    this.size = size;
    this.canvas.width = Math.round(size.width * ratio);
    this.canvas.height = Math.round(size.height * ratio);
    if (!this.held) this.showAll(true);
    // Now, because a canvas of another size is empty.
    this.paint(performance.now());
  }

  retheme(): void {
    this.theme = readTheme(this.canvas);
    this.recolour();
    this.soon();
  }

  /** Change the view; at once as with a finger, else smoothly. */
  look(change: (view: View) => View, atOnce = false): void {
    this.held = true;
    this.target = change(atOnce ? this.view : this.target);
    if (atOnce || this.still) this.view = this.target;
    this.soon();
  }

  showAll(atOnce = false): void {
    this.held = false;
    if (!this.layout || this.size.width === 0) return;
    this.target = fit(this.layout.index.bounds, this.size, MARGIN);
    if (atOnce || this.still || this.view.scale <= 1) this.view = this.target;
    this.soon();
  }

  /** Bring an image into the middle when it is out of sight. */
  reveal(image: number): void {
    const place = this.placeOnScreen(image, this.target);
    const { width, height } = this.size;
    // Before the canvas has a size, all will be shown.
    if (!place || width === 0) return;
    if (place.x > 20 && place.y > 20 && place.x < width - 20 && place.y < height - 20) return;
    const [dx, dy] = [width / 2 - place.x, height / 2 - place.y];
    this.look((view) => ({ ...view, x: view.x + dx, y: view.y + dy }));
  }

  placeOnScreen(image: number, view = this.view): Point | null {
    if (!this.layout || image >= this.layout.n) return null;
    const [x, y] = this.placeOf(image);
    return { x: view.x + view.scale * x, y: view.y + view.scale * y };
  }

  /** The image under a place on the screen, −1 for none: pictures first, then dots nearby. */
  imageAt({ x, y }: Point): number {
    const { drawn, layout } = this;
    if (!drawn || !layout) return -1;
    const half = drawn.side / 2;
    const hit = drawn.images.findIndex(
      (_, k) => Math.abs(drawn.xs[k]! - x) <= half && Math.abs(drawn.ys[k]! - y) <= half,
    );
    if (hit >= 0 && drawn.detail !== 'dots') return drawn.images[hit]!;
    return layout.index.nearest(toWorld(this.view, { x, y }), REACH / this.view.scale);
  }

  /** Images inside a closed line on the screen, ascending. */
  imagesInside(line: readonly Point[]): number[] {
    return this.layout?.index.inside(line.map((at) => toWorld(this.view, at))) ?? [];
  }

  private get ratio(): number {
    return Math.min(window.devicePixelRatio || 1, 2);
  }

  private get share(): number {
    if (!this.before) return 1;
    const t = Math.min((performance.now() - this.moveBegan) / MOVE_MS, 1);
    return t * t * (3 - 2 * t);
  }

  private placeOf(image: number, share = this.share): [number, number] {
    const places = this.layout!.places;
    const [x, y] = [places[2 * image]!, places[2 * image + 1]!];
    if (!this.before || share >= 1 || 2 * image + 1 >= this.before.length) return [x, y];
    const [u, v] = [this.before[2 * image]!, this.before[2 * image + 1]!];
    return [u + (x - u) * share, v + (y - v) * share];
  }

  private placesNow(): Float32Array {
    const { places, n } = this.layout!;
    const share = this.share;
    if (share >= 1) return places;
    return Float32Array.from({ length: 2 * n }, (_, k) => this.placeOf(k >> 1, share)[k & 1]!);
  }

  private recolour(): void {
    const { layout, colouring } = this;
    if (!layout || !colouring) return;
    const codes = Uint8Array.from(
      layout.index.order,
      (image) => (colouring.slots[image] ?? 0) | (this.chosen.has(image) ? CHOSEN : 0),
    );
    const colours = colouring.colours.map(this.theme.resolve);
    this.surface.setColours(codes, paletteOf(colours, this.dimmed, colouring.opacities));
  }

  private soon(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame((now) => this.paint(now));
  }

  private paint(now: number): void {
    this.frame = 0;
    const { layout } = this;
    if (!layout || !this.colouring || this.size.width === 0) return;
    this.approach(now);
    this.pictures.receive();
    const share = this.share;
    if (share >= 1) this.before = null;
    const choice = choose(layout, this.view, this.size, this.density, this.selected, (image) =>
      this.placeOf(image, share),
    );
    const { count, fading } = this.pictures.lay(
      layout,
      choice,
      this.ratio,
      this.selected,
      (image) => this.styleOf(image),
    );
    const more = this.surface.draw({
      ...this.size,
      ratio: this.ratio,
      view: this.view,
      share,
      ...dotStyle(layout, this.view),
      selecting: this.chosen.size > 0,
      pictures: this.pictures.data,
      nPictures: count,
      theme: this.theme,
    });
    const moving = share < 1 || this.view !== this.target;
    this.drawn = {
      ...choice,
      view: this.view,
      size: this.size,
      version: layout.version,
      nPictures: count,
      settled: !more && !moving && this.pictures.idle,
      surface: this.surface.kind,
    };
    this.onDrawn(this.drawn);
    if (more || moving || fading || this.pictures.waiting) this.soon();
  }

  private approach(now: number): void {
    const passed = Math.min(now - this.last, 50);
    this.last = now;
    if (this.view === this.target) return;
    if (isSame(this.view, this.target)) this.view = this.target;
    else this.view = between(this.view, this.target, 1 - Math.exp(-passed / ZOOM_MS), this.size);
  }

  private styleOf(image: number): Style {
    const { slots, legend, opacities } = this.colouring!;
    const slot = legend.length > 0 ? slots[image]! : -1;
    const outside = this.chosen.size > 0 && !this.chosen.has(image);
    const faint = outside || this.dimmed.has(slot);
    return { slot, opacity: faint ? FAINT : (opacities?.[slot] ?? 1) };
  }
}
