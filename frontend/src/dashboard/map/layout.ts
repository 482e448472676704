/** Where the images of a model lie: nine bytes each, laid under typed arrays as they come. */
import { requestBytes } from '../../api/client';
import { PointIndex } from './points';
import { PictureTiles } from './tiles';

export interface Layout {
  version: number;
  n: number;
  /** x, y of each position, in the unit square. */
  places: Float32Array;
  index: PointIndex;
  tiles: PictureTiles;
}

const HEADER = 8;
const MAGIC = 0x314d_574c; // "LWM1"

export function parseLayout(version: number, bytes: ArrayBuffer): Layout {
  const view = new DataView(bytes);
  const n = bytes.byteLength >= HEADER ? view.getUint32(4, true) : 0;
  if (bytes.byteLength !== HEADER + 9 * n || view.getUint32(0, true) !== MAGIC) {
    throw new Error('These bytes are no layout of a map.');
  }
  const places = new Float32Array(bytes, HEADER, 2 * n);
  const levels = new Uint8Array(bytes, HEADER + 8 * n, n);
  return {
    version,
    n,
    places,
    index: new PointIndex(places),
    tiles: new PictureTiles(places, levels),
  };
}

/** Layouts of a campaign's models; those looked at last are kept. */
export class Layouts {
  private readonly known = new Map<number, Promise<Layout>>();

  constructor(private readonly root: string) {}

  /** Raises ApiError. */
  load(version: number): Promise<Layout> {
    const found = this.known.get(version) ?? this.fetch(version);
    this.known.delete(version);
    this.known.set(version, found);
    for (const oldest of [...this.known.keys()].slice(0, -KEPT)) this.known.delete(oldest);
    return found;
  }

  private fetch(version: number): Promise<Layout> {
    const made = requestBytes(`${this.root}/models/${version}/map/layout`).then((bytes) =>
      parseLayout(version, bytes),
    );
    made.catch(() => this.known.delete(version));
    return made;
  }
}

const KEPT = 12;
