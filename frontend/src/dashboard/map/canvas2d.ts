/** Paints the map on a 2-D canvas, for browsers without WebGL 2: the same dots and pictures. */
import { PAGE } from './pages';
import type { PointIndex } from './points';
import { CHOSEN, inOrder, STRIDE, type Frame, type Surface } from './surface';
import type { Colour } from './theme';
import { inView } from './view';

export class CanvasSurface implements Surface {
  readonly kind = '2d';
  private readonly pages = new Map<number, OffscreenCanvasRenderingContext2D>();
  private index: PointIndex | null = null;
  private places: Float32Array = new Float32Array(0);
  private before: Float32Array | null = null;
  private codes: Uint8Array = new Uint8Array(0);
  private palette: Float32Array = new Float32Array(0);

  static of(canvas: HTMLCanvasElement): CanvasSurface | null {
    const context = canvas.getContext('2d', { alpha: false });
    return context && new CanvasSurface(context);
  }

  private constructor(private readonly context: CanvasRenderingContext2D) {}

  setPoints(index: PointIndex, before: Float32Array | null): void {
    this.index = index;
    this.places = inOrder(index, index.places);
    this.before = before;
  }

  setColours(codes: Uint8Array, palette: Float32Array): void {
    this.codes = codes;
    this.palette = palette;
  }

  upload(page: number, x: number, y: number, bitmap: ImageBitmap): void {
    const known = this.pages.get(page) ?? new OffscreenCanvas(PAGE, PAGE).getContext('2d');
    if (!known) return;
    this.pages.set(page, known);
    known.clearRect(x, y, bitmap.width, bitmap.height);
    known.drawImage(bitmap, x, y);
  }

  draw(frame: Frame): boolean {
    this.drawDots(frame);
    this.context.setTransform(frame.ratio, 0, 0, frame.ratio, 0, 0);
    for (let k = 0; k < frame.nPictures; k++) this.drawPicture(frame, k * STRIDE);
    return false;
  }

  destroy(): void {
    this.pages.clear();
  }

  /** Straight into the pixels: a hundred thousand calls of `fillRect` would take long. */
  private drawDots(frame: Frame): void {
    const { width, height } = this.context.canvas;
    const image = this.context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    pixels.fill(packed(frame.theme.background));
    const colours = Array.from({ length: this.palette.length / 4 }, (_, slot) =>
      [0.85, 0.2].map((share) => this.mixed(frame, slot, share)),
    );
    const side = Math.max(Math.round(frame.dot * frame.ratio), 1);
    const { scale, x, y } = frame.view;
    for (const [first, count] of this.index?.ranges(inView(frame.view, frame, side)) ?? []) {
      for (let k = first; k < first + count; k++) {
        const code = this.codes[k] ?? 0;
        const dim = frame.selecting && code < CHOSEN ? 1 : 0;
        const left = Math.round(frame.ratio * (scale * this.at(frame, 2 * k) + x) - side / 2);
        const top = Math.round(frame.ratio * (scale * this.at(frame, 2 * k + 1) + y) - side / 2);
        const end = Math.min(left + side, width);
        for (let row = Math.max(top, 0); row < Math.min(top + side, height); row++) {
          if (end > 0)
            pixels.fill(
              colours[code & 15]![dim]!,
              row * width + Math.max(left, 0),
              row * width + end,
            );
        }
      }
    }
    this.context.putImageData(image, 0, 0);
  }

  private at({ share }: Frame, k: number): number {
    const place = this.places[k]!;
    return this.before && share < 1 ? this.before[k]! + (place - this.before[k]!) * share : place;
  }

  private mixed({ theme }: Frame, slot: number, share: number): number {
    const seen = this.palette[4 * slot + 3]! * share;
    const mix = (k: 0 | 1 | 2) =>
      this.palette[4 * slot + k]! * seen + theme.background[k] * (1 - seen);
    return packed([mix(0), mix(1), mix(2)]);
  }

  private drawPicture(frame: Frame, at: number): void {
    const { context } = this;
    const [x, y, half, page, left, top, width, height, slot, seen] = frame.pictures.subarray(
      at,
      at + STRIDE,
    ) as unknown as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    const source = this.pages.get(page);
    if (!source) return;
    const border = slot >= 0 ? Math.min(Math.max(half * 0.1, 1.5), 4) : 1;
    const room = 2 * (half - border);
    const shrink = room / Math.max(width, height);
    const [w, h] = [width * shrink, height * shrink];
    context.globalAlpha = seen;
    context.fillStyle =
      slot >= 0
        ? css([...this.palette.subarray(4 * slot, 4 * slot + 3)] as unknown as Colour)
        : css(frame.theme.border);
    context.fillRect(x - half, y - half, 2 * half, 2 * half);
    context.fillStyle = css(frame.theme.card);
    context.fillRect(x - room / 2, y - room / 2, room, room);
    context.drawImage(source.canvas, left, top, width, height, x - w / 2, y - h / 2, w, h);
    context.globalAlpha = 1;
  }
}

function packed([red, green, blue]: Colour): number {
  const byte = (share: number) => Math.round(255 * share);
  return ((255 << 24) | (byte(blue) << 16) | (byte(green) << 8) | byte(red)) >>> 0;
}

function css([red, green, blue]: Colour): string {
  return `rgb(${255 * red} ${255 * green} ${255 * blue})`;
}
