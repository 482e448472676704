/**
 * A hundred thousand dots at a steady pace, also where the processor paints them.
 *
 * As many dots as a frame can bear (`budget`, found by measuring) are painted straight away. When
 * more are in view, they are painted little by little, frame after frame, onto a picture somewhat
 * larger than the screen; until then the last such picture is shown, moved and scaled with the view.
 * At rest every dot is where it belongs.
 */
import { fill, makeProgram, Target, type Program } from './gl';
import type { PointIndex, Range } from './points';
import { COPY, DOTS } from './shaders';
import { inOrder, type Frame } from './surface';
import { inView, pan, type Size, type View } from './view';

/** The picture of dots is this much larger than the screen, so that a pan shows no edge soon. */
const BEYOND = 1.25;
const LEAST = 5_000;
const FAST_MS = 20;
const SLOW_MS = 30;

interface Painting {
  target: Target;
  view: View;
  size: Size;
}

interface Work extends Painting {
  ranges: Range[];
}

export class Dots {
  private budget = 12_000;
  private readonly dots: Program;
  private readonly copy: Program;
  private readonly arrays: WebGLVertexArrayObject[];
  private readonly quad: WebGLVertexArrayObject;
  private readonly places: WebGLBuffer;
  private readonly before: WebGLBuffer;
  private readonly codes: WebGLBuffer;
  private index: PointIndex | null = null;
  private stride = 0;
  private front: Painting | null = null;
  private work: Work | null = null;
  private spare: Target | null = null;
  /** What is painted differs from what should be: colours or points have changed. */
  private stale = true;
  private last = 0;
  /** The last frame had about as many dots as the budget allows. */
  private bound = false;

  constructor(private readonly gl: WebGL2RenderingContext) {
    this.dots = makeProgram(gl, DOTS);
    this.copy = makeProgram(gl, COPY);
    this.places = gl.createBuffer();
    this.before = gl.createBuffer();
    this.codes = gl.createBuffer();
    this.arrays = [gl.createVertexArray(), gl.createVertexArray()];
    this.quad = gl.createVertexArray();
    gl.bindVertexArray(this.quad);
    fill(gl, gl.createBuffer(), new Float32Array([0, 0, 1, 0, 0, 1, 1, 1]), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(this.copy.attribute('corner'));
    gl.vertexAttribPointer(this.copy.attribute('corner'), 2, gl.FLOAT, false, 0, 0);
  }

  setPoints(index: PointIndex, before: Float32Array | null): void {
    const { gl } = this;
    this.drop();
    this.index = index;
    fill(gl, this.places, inOrder(index, index.places), gl.STATIC_DRAW);
    fill(gl, this.before, before ?? new Float32Array(0), gl.STATIC_DRAW);
    this.lay(this.arrays[0]!, this.places, 1);
    this.stride = 0;
    this.stale = true;
  }

  setCodes(codes: Uint8Array): void {
    fill(this.gl, this.codes, codes, this.gl.STATIC_DRAW);
    this.stale = true;
  }

  setPalette(palette: Float32Array): void {
    this.gl.useProgram(this.dots.program);
    this.gl.uniform4fv(this.dots.uniform('palette'), palette);
    this.stale = true;
  }

  /** Paint on the screen; true while a better picture is in work. */
  draw(frame: Frame): boolean {
    if (!this.index) return false;
    this.pace();
    const n = this.index.order.length;
    if (frame.share < 1) {
      this.drop();
      this.straight(frame, n, Math.min(Math.ceil(n / this.budget), 31));
      return false;
    }
    const ranges = this.index.ranges(inView(frame.view, frame, frame.dot));
    const count = total(ranges);
    this.bound = count > 0.6 * this.budget;
    if (count <= this.budget) {
      this.drop();
      this.prepare(frame, frame.view, frame, this.arrays[0]!);
      for (const [first, count] of ranges) this.gl.drawArrays(this.gl.POINTS, first, count);
      return false;
    }
    return this.littleByLittle(frame);
  }

  destroy(): void {
    this.drop();
  }

  /** Points on the move: every so many of them, evenly over the map. */
  private straight(frame: Frame, n: number, stride: number): void {
    if (stride !== this.stride) this.lay(this.arrays[1]!, this.before, stride);
    this.stride = stride;
    this.prepare(frame, frame.view, frame, this.arrays[1]!);
    this.gl.drawArrays(this.gl.POINTS, 0, Math.floor(n / stride));
  }

  private littleByLittle(frame: Frame): boolean {
    const { gl } = this;
    if (this.front && !sameSize(this.front.size, frame)) this.drop();
    const moved = !this.front || this.stale || !equal(this.front.view, frame.view);
    if (!this.work && moved) this.begin(frame);
    const whole = !this.front;
    if (this.work) this.goOn(frame, this.work, whole ? Infinity : this.budget);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    if (this.front) this.show(frame, this.front);
    return this.work !== null || !this.front || this.stale || !equal(this.front.view, frame.view);
  }

  private begin(frame: Frame): void {
    const width = Math.ceil(frame.width * frame.ratio * BEYOND);
    const height = Math.ceil(frame.height * frame.ratio * BEYOND);
    const margin = ((BEYOND - 1) / 2) * Math.max(frame.width, frame.height);
    const { gl } = this;
    const target = this.targetOf(width, height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, target.framebuffer);
    // On the map's own ground, so that it is copied and not blended onto the screen.
    gl.clearColor(...frame.theme.background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const ranges = this.index!.ranges(inView(frame.view, frame, margin)).map<Range>(([a, b]) => [
      a,
      b,
    ]);
    const size = { width: frame.width, height: frame.height };
    this.work = { target, view: frame.view, size, ranges };
    this.stale = false;
  }

  private goOn(frame: Frame, work: Work, budget: number): void {
    const { gl } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, work.target.framebuffer);
    gl.viewport(0, 0, work.target.width, work.target.height);
    const larger = { width: work.size.width * BEYOND, height: work.size.height * BEYOND };
    const beyond = (BEYOND - 1) / 2;
    const shifted = pan(work.view, beyond * work.size.width, beyond * work.size.height);
    this.prepare(frame, shifted, larger, this.arrays[0]!);
    let left = budget;
    while (left > 0 && work.ranges.length > 0) {
      const range = work.ranges[0]!;
      const count = Math.min(range[1], left);
      gl.drawArrays(gl.POINTS, range[0], count);
      left -= count;
      range[0] += count;
      range[1] -= count;
      if (range[1] === 0) work.ranges.shift();
    }
    if (work.ranges.length > 0) return;
    this.spare = this.front?.target ?? null;
    this.front = work;
    this.work = null;
  }

  private show(frame: Frame, { target, view, size }: Painting): void {
    const { gl, copy } = this;
    const grown = frame.view.scale / view.scale;
    const beyond = (BEYOND - 1) / 2;
    gl.useProgram(copy.program);
    gl.bindVertexArray(this.quad);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, target.texture);
    gl.uniform1i(copy.uniform('dots'), 0);
    gl.uniform2f(copy.uniform('screen'), frame.width, frame.height);
    // The painting's corner on the screen as it was, moved along to the view of now.
    gl.uniform4f(
      copy.uniform('box'),
      frame.view.x - (beyond * size.width + view.x) * grown,
      frame.view.y - (beyond * size.height + view.y) * grown,
      size.width * BEYOND * grown,
      size.height * BEYOND * grown,
    );
    gl.disable(gl.BLEND);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.enable(gl.BLEND);
  }

  private prepare(
    frame: Frame,
    view: View,
    screen: { width: number; height: number },
    array: WebGLVertexArrayObject,
  ): void {
    const { gl, dots } = this;
    gl.useProgram(dots.program);
    gl.bindVertexArray(array);
    gl.uniform3f(dots.uniform('view'), view.scale, view.x, view.y);
    gl.uniform2f(dots.uniform('screen'), screen.width, screen.height);
    gl.uniform1f(dots.uniform('share'), frame.share);
    gl.uniform1f(dots.uniform('size'), frame.dot * frame.ratio);
    gl.uniform1f(dots.uniform('opacity'), frame.opacity);
    gl.uniform1i(dots.uniform('selecting'), Number(frame.selecting));
  }

  private lay(array: WebGLVertexArrayObject, from: WebGLBuffer, stride: number): void {
    const { gl, dots } = this;
    gl.bindVertexArray(array);
    for (const [name, buffer] of [
      ['before', from],
      ['place', this.places],
    ] as const) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(dots.attribute(name));
      gl.vertexAttribPointer(dots.attribute(name), 2, gl.FLOAT, false, 8 * stride, 0);
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, this.codes);
    gl.enableVertexAttribArray(dots.attribute('code'));
    gl.vertexAttribIPointer(dots.attribute('code'), 1, gl.UNSIGNED_BYTE, stride, 0);
  }

  /** As many dots a frame as come at a steady pace. */
  private pace(): void {
    const now = performance.now();
    const took = now - this.last;
    this.last = now;
    // A long pause is no slow frame: nothing was painted.
    if (took < FAST_MS && this.bound) this.budget = Math.min(this.budget * 1.1, 4_000_000);
    else if (took > SLOW_MS && took < 300) this.budget = Math.max(this.budget * 0.8, LEAST);
    this.budget = Math.round(this.budget);
  }

  private drop(): void {
    for (const target of [this.front?.target, this.work?.target, this.spare]) target?.destroy();
    this.front = this.work = this.spare = null;
  }

  private targetOf(width: number, height: number): Target {
    const { spare } = this;
    this.spare = null;
    if (spare?.width === width && spare.height === height) return spare;
    spare?.destroy();
    return new Target(this.gl, width, height);
  }
}

function total(ranges: readonly Range[]): number {
  return ranges.reduce((sum, [, count]) => sum + count, 0);
}

function equal(one: View, other: View): boolean {
  return one.scale === other.scale && one.x === other.x && one.y === other.y;
}

function sameSize(one: Size, other: Size): boolean {
  return one.width === other.width && one.height === other.height;
}
