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

export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${Math.round(bytes)} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** Rounded so that it does not jump about. */
export function timeText(seconds: number): string {
  if (!Number.isFinite(seconds)) return '';
  if (seconds < 10) return 'a few seconds';
  if (seconds < 55) return `${Math.ceil(seconds / 10) * 10} seconds`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return minutes <= 1 ? 'a minute' : `${minutes} minutes`;
  const hours = Math.round(minutes / 30) / 2;
  return hours === 1 ? 'an hour' : `${hours} hours`;
}
