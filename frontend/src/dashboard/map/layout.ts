/** Where the images of a model lie: nine bytes each, laid under typed arrays as they come. */
import { modelApi, reply } from '../../api/client';
import { ApiError } from '../../api/errors';
import { PointIndex } from './points';
import { PictureTiles } from './tiles';

/** How places are found: the principal axes, t-SNE, or an attribute to the right and one upwards. */
export type Method = 'pca' | 'tsne' | `axes-${number}-${number}`;

/** The numbers of the attributes that are the axes of a layout, to the right and upwards. */
export function axesOf(method: Method): [number, number] | null {
  const parts = /^axes-(\d{1,3})-(\d{1,3})$/.exec(method);
  return parts && [Number(parts[1]), Number(parts[2])];
}

/** A layout that an address names; the principal axes if it names none. */
export function methodOf(text: string | null): Method {
  const method = text as Method;
  return text === 'tsne' || (text !== null && axesOf(method)) ? method : 'pca';
}

/** A layout of one model; also the part of an address that tells it from the model's other one. */
export interface LayoutName {
  version: number;
  method: Method;
}

export function keyOfLayout({ version, method }: LayoutName): string {
  return `${version}/${method}`;
}

/** The query of requests that depend on the layout. */
export function queryOf({ method }: LayoutName): { method?: Method } {
  return method === 'pca' ? {} : { method };
}

export interface Layout extends LayoutName {
  n: number;
  /** x, y of each position, in the unit square. */
  places: Float32Array;
  index: PointIndex;
  tiles: PictureTiles;
}

const HEADER = 8;
const MAGIC = 0x314d_574c; // "LWM1"

export function parseLayout(name: LayoutName, bytes: ArrayBuffer): Layout {
  const view = new DataView(bytes);
  const n = bytes.byteLength >= HEADER ? view.getUint32(4, true) : 0;
  if (bytes.byteLength !== HEADER + 9 * n || view.getUint32(0, true) !== MAGIC) {
    throw new Error('The map layout from the server is not valid.');
  }
  const places = new Float32Array(bytes, HEADER, 2 * n);
  const levels = new Uint8Array(bytes, HEADER + 8 * n, n);
  return {
    version: name.version,
    method: name.method,
    n,
    places,
    index: new PointIndex(places),
    tiles: new PictureTiles(places, levels),
  };
}

/** Layouts of a campaign's models; those looked at last are kept. */
export class Layouts {
  private readonly known = new Map<string, Promise<Layout>>();

  constructor(private readonly campaignId: string) {}

  /** Asks again while the server computes for others, as long as it `isWanted`; null when it is not
   * any more. Raises ApiError. */
  async load(name: LayoutName, isWanted = () => true): Promise<Layout | null> {
    for (;;) {
      try {
        return await this.loadOnce(name);
      } catch (problem) {
        if (!(problem instanceof ApiError) || problem.code !== 'busy') throw problem;
        await new Promise((done) => setTimeout(done, PATIENCE));
        if (!isWanted()) return null;
      }
    }
  }

  private loadOnce(name: LayoutName): Promise<Layout> {
    const key = keyOfLayout(name);
    const found = this.known.get(key) ?? this.fetch(name);
    this.known.delete(key);
    this.known.set(key, found);
    for (const oldest of [...this.known.keys()].slice(0, -KEPT)) this.known.delete(oldest);
    return found;
  }

  private fetch(name: LayoutName): Promise<Layout> {
    const call = { params: { query: queryOf(name) }, parseAs: 'arrayBuffer' } as const;
    const loading = reply(modelApi(this.campaignId, name.version).GET('/map/layout', call));
    const made = loading.then((bytes) => parseLayout(name, bytes));
    made.catch(() => this.known.delete(keyOfLayout(name)));
    return made;
  }
}

const KEPT = 12;
/** Milliseconds until a busy server is asked again. */
const PATIENCE = 2_000;
