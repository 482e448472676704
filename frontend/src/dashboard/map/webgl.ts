/** Paints the map with WebGL 2: dots, and pictures out of one stack of pages. */
import { Dots } from './dots';
import { fill, makeProgram, type Program } from './gl';
import { PAGE } from './pages';
import type { PointIndex } from './points';
import { PICTURES } from './shaders';
import { STRIDE, type Frame, type Surface } from './surface';

const FLOAT = 4;

export class WebGLSurface implements Surface {
  readonly kind = 'webgl';
  private readonly dots: Dots;
  private readonly pictures: Program;
  private readonly array: WebGLVertexArrayObject;
  private readonly instances: WebGLBuffer;
  private readonly pages: WebGLTexture;

  /** Null where the browser has no WebGL 2. */
  static of(canvas: HTMLCanvasElement, nPages: number): WebGLSurface | null {
    const gl = canvas.getContext('webgl2', { alpha: false, antialias: false, depth: false });
    return gl && !gl.isContextLost() ? new WebGLSurface(gl, nPages) : null;
  }

  private constructor(
    private readonly gl: WebGL2RenderingContext,
    nPages: number,
  ) {
    this.dots = new Dots(gl);
    this.pictures = makeProgram(gl, PICTURES);
    this.array = gl.createVertexArray();
    this.instances = gl.createBuffer();
    this.layPictures();
    this.pages = gl.createTexture();
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, this.pages);
    gl.texStorage3D(gl.TEXTURE_2D_ARRAY, 1, gl.RGBA8, PAGE, PAGE, nPages);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
      gl.texParameteri(gl.TEXTURE_2D_ARRAY, name, gl.LINEAR);
    }
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  setPoints(index: PointIndex, before: Float32Array | null): void {
    this.dots.setPoints(index, before);
  }

  setColours(codes: Uint8Array, palette: Float32Array): void {
    this.dots.setCodes(codes);
    this.dots.setPalette(palette);
    this.gl.useProgram(this.pictures.program);
    this.gl.uniform4fv(this.pictures.uniform('palette'), palette);
  }

  upload(page: number, x: number, y: number, bitmap: ImageBitmap): void {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, this.pages);
    gl.texSubImage3D(
      gl.TEXTURE_2D_ARRAY,
      0,
      x,
      y,
      page,
      bitmap.width,
      bitmap.height,
      1,
      gl.RGBA,
      gl.UNSIGNED_BYTE,
      bitmap,
    );
  }

  draw(frame: Frame): boolean {
    const { gl } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(...frame.theme.background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const more = this.dots.draw(frame);
    if (frame.nPictures > 0) this.drawPictures(frame);
    return more;
  }

  destroy(): void {
    this.dots.destroy();
    this.gl.getExtension('WEBGL_lose_context')?.loseContext();
  }

  private drawPictures(frame: Frame): void {
    const { gl, pictures } = this;
    gl.useProgram(pictures.program);
    gl.bindVertexArray(this.array);
    const data = frame.pictures.subarray(0, frame.nPictures * STRIDE);
    fill(gl, this.instances, data, gl.STREAM_DRAW);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, this.pages);
    gl.uniform1i(pictures.uniform('pages'), 1);
    gl.uniform2f(pictures.uniform('screen'), frame.width, frame.height);
    gl.uniform3f(pictures.uniform('card'), ...frame.theme.card);
    gl.uniform3f(pictures.uniform('border'), ...frame.theme.border);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, frame.nPictures);
  }

  private layPictures(): void {
    const { gl, pictures } = this;
    gl.bindVertexArray(this.array);
    const corners = new Float32Array([0, 0, 1, 0, 0, 1, 1, 1]);
    fill(gl, gl.createBuffer(), corners, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(pictures.attribute('corner'));
    gl.vertexAttribPointer(pictures.attribute('corner'), 2, gl.FLOAT, false, 0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.instances);
    let offset = 0;
    for (const [name, size] of [
      ['middle', 3],
      ['origin', 3],
      ['rest', 4],
    ] as const) {
      const at = pictures.attribute(name);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, size, gl.FLOAT, false, STRIDE * FLOAT, offset * FLOAT);
      gl.vertexAttribDivisor(at, 1);
      offset += size;
    }
  }
}
