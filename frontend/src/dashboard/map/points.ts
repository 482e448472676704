/** The points of a map in a grid of cells: what is in view, near the pointer, or inside a lasso. */
import { boxOf, isInside } from './lasso';
import type { Box, Point } from './view';

/** About this many points a cell, were they spread evenly. */
const PER_CELL = 8;
const MOST_CELLS = 128;

/** `[first, count]` in `PointIndex.order`. */
export type Range = [number, number];

export class PointIndex {
  /** Positions, cell by cell, row by row. */
  readonly order: Uint32Array;
  readonly bounds: Box;
  /** Typical distance of points from each other, in the world: of as many on their area. */
  readonly spacing: number;

  private readonly side: number;
  private readonly starts: Uint32Array;

  /** `places`: x, y of each position, in the unit square. */
  constructor(readonly places: Float32Array) {
    const n = places.length / 2;
    this.side = Math.min(Math.max(Math.ceil(Math.sqrt(n / PER_CELL)), 1), MOST_CELLS);
    const cells = new Uint16Array(n);
    this.starts = new Uint32Array(this.side * this.side + 1);
    for (let i = 0; i < n; i++) {
      const cell = this.row(places[2 * i + 1]!) * this.side + this.row(places[2 * i]!);
      cells[i] = cell;
      this.starts[cell + 1]! += 1;
    }
    const occupied = this.starts.reduce((sum, count) => sum + (count > 0 ? 1 : 0), 0);
    for (let k = 0; k < this.side * this.side; k++) this.starts[k + 1]! += this.starts[k]!;
    this.order = new Uint32Array(n);
    const next = this.starts.slice();
    for (let i = 0; i < n; i++) this.order[next[cells[i]!]!++] = i;
    this.bounds = boxOf(places);
    this.spacing = Math.sqrt(occupied / Math.max(n, 1)) / this.side;
  }

  /** Where in `order` the points of all cells lie that touch the box; few and long ranges. */
  ranges(box: Box): Range[] {
    const [left, right] = [this.row(box.left), this.row(box.right)];
    const found: Range[] = [];
    for (let row = this.row(box.top); row <= this.row(box.bottom); row++) {
      const first = this.starts[row * this.side + left]!;
      const end = this.starts[row * this.side + right + 1]!;
      const last = found.at(-1);
      if (last && last[0] + last[1] === first) last[1] += end - first;
      else if (end > first) found.push([first, end - first]);
    }
    return found;
  }

  /** Positions in the box, or null when there are more than `most`. */
  within(box: Box, most = Infinity): number[] | null {
    const found: number[] = [];
    for (const [first, count] of this.ranges(box)) {
      for (let k = first; k < first + count; k++) {
        const i = this.order[k]!;
        const [x, y] = [this.places[2 * i]!, this.places[2 * i + 1]!];
        if (x < box.left || x > box.right || y < box.top || y > box.bottom) continue;
        if (found.length >= most) return null;
        found.push(i);
      }
    }
    return found;
  }

  /** The position nearest to a place in the world, −1 when none is within `radius`. */
  nearest({ x, y }: Point, radius: number): number {
    let [found, best] = [-1, radius * radius];
    const box = { left: x - radius, right: x + radius, top: y - radius, bottom: y + radius };
    for (const i of this.within(box) ?? []) {
      const distance = (this.places[2 * i]! - x) ** 2 + (this.places[2 * i + 1]! - y) ** 2;
      if (distance <= best) [found, best] = [i, distance];
    }
    return found;
  }

  /** Positions inside a closed line in the world, ascending. */
  inside(line: readonly Point[]): number[] {
    if (line.length < 3) return [];
    const flat = new Float32Array(line.flatMap(({ x, y }) => [x, y]));
    return (this.within(boxOf(flat)) ?? [])
      .filter((i) => isInside(line, this.places[2 * i]!, this.places[2 * i + 1]!))
      .sort((a, b) => a - b);
  }

  private row(value: number): number {
    return Math.min(Math.max(Math.floor(value * this.side), 0), this.side - 1);
  }
}
