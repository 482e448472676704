/** How fast an upload goes, and how long it will take. */

const WINDOW_MS = 15_000;

interface Sample {
  at: number;
  bytes: number;
}

export class Rate {
  private samples: Sample[] = [];

  /** Note how many bytes are done at a time in milliseconds. */
  note(at: number, bytes: number): void {
    this.samples.push({ at, bytes });
    while (this.samples.length > 2 && at - this.samples[0]!.at > WINDOW_MS) this.samples.shift();
  }

  /** Bytes a second over the last quarter of a minute; 0 as long as nothing is known. */
  get perSecond(): number {
    const first = this.samples[0];
    const last = this.samples.at(-1);
    if (!first || !last || last.at - first.at < 500) return 0;
    return Math.max(0, ((last.bytes - first.bytes) / (last.at - first.at)) * 1000);
  }

  forget(): void {
    this.samples = [];
  }
}
