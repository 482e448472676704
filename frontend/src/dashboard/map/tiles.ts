/**
 * Which images get a picture at which zoom. The server has dealt every image a level (see
 * app/maps/levels.py): tiles, 2^level to a side, of 8 × 8 cells, and one new picture a cell.
 */
import type { Box } from './view';

export const CELLS = 8;
export const N_LEVELS = 11;

export interface Tile {
  level: number;
  column: number;
  row: number;
}

export class PictureTiles {
  private readonly tiles = new Map<number, number[]>();

  constructor(
    private readonly places: Float32Array,
    readonly levels: Uint8Array,
  ) {
    for (let i = 0; i < levels.length; i++) {
      const tile = this.tileOf(i);
      if (!tile) continue;
      const key = keyOf(tile);
      const known = this.tiles.get(key);
      if (known) known.push(i);
      else this.tiles.set(key, [i]);
    }
  }

  /** Images whose pictures are new in a tile. */
  images(tile: Tile): readonly number[] {
    return this.tiles.get(keyOf(tile)) ?? [];
  }

  /** The tile whose sheet shows an image; undefined for one without a picture. */
  tileOf(image: number): Tile | undefined {
    const level = this.levels[image]!;
    if (level >= N_LEVELS) return undefined;
    const [x, y] = this.cellOf(image, level);
    return { level, column: Math.floor(x / CELLS), row: Math.floor(y / CELLS) };
  }

  /** Column and row of its picture on that sheet. */
  placeOnSheet(image: number): [number, number] {
    const [x, y] = this.cellOf(image, this.levels[image]!);
    return [x % CELLS, y % CELLS];
  }

  /** Tiles with pictures in the box, up to a level, the coarsest first. */
  inBox(box: Box, level: number): Tile[] {
    const found: Tile[] = [];
    for (let l = 0; l <= level; l++) {
      const side = 1 << l;
      const bounded = (value: number) => Math.min(Math.max(Math.floor(value * side), 0), side - 1);
      for (let row = bounded(box.top); row <= bounded(box.bottom); row++) {
        for (let column = bounded(box.left); column <= bounded(box.right); column++) {
          const tile = { level: l, column, row };
          if (this.tiles.has(keyOf(tile))) found.push(tile);
        }
      }
    }
    return found;
  }

  private cellOf(image: number, level: number): [number, number] {
    const side = CELLS << level;
    const cell = (value: number) => Math.min(Math.max(Math.floor(value * side), 0), side - 1);
    return [cell(this.places[2 * image]!), cell(this.places[2 * image + 1]!)];
  }
}

/** The finest level whose cells are at least `cell` pixels wide. */
export function levelFor(scale: number, cell: number): number {
  const level = Math.floor(Math.log2(scale / (CELLS * cell)));
  return Math.min(Math.max(level, 0), N_LEVELS - 1);
}

export function keyOf({ level, column, row }: Tile): number {
  return (level * 1024 + row) * 1024 + column;
}
