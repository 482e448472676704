/** How much longer the sets of an assignment will take: by how long this person's took so far. */
import { kindMinutes, median } from './pace';

export class Pace {
  /** Seconds that each set took since the page was opened. */
  private times: readonly number[] = $state.raw([]);

  add(milliseconds: number): void {
    this.times = [...this.times, milliseconds / 1000];
  }

  /** Minutes for so many sets; null before anything is known. `mean`: seconds per earlier set. */
  minutesFor(sets: number, mean: number): number | null {
    const each = this.times.length > 0 ? median(this.times) : mean;
    return sets > 0 && each > 0 ? kindMinutes(sets * each) : null;
  }
}
