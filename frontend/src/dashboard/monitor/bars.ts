/** Bars of the monitor's chart: every minute, hour or day in its place, also those without answers. */
import type { Monitor } from '../../api/types';
import { clock, day } from '../../lib/format';

type Bar = Monitor['bars'][number];

const SECONDS: Record<string, number> = { minute: 60, hour: 3600, day: 86400 };
/** A chart of two bars would look like a wall. */
const FEWEST = 12;

export interface Placed {
  readonly at: Date;
  readonly answers: number;
  readonly annotators: number;
}

export function everyBar(unit: string, bars: readonly Bar[]): Placed[] {
  const step = (SECONDS[unit] ?? 60) * 1000;
  const known = new Map(bars.map((bar) => [Date.parse(bar.at), bar]));
  const [first, last] = [bars[0], bars.at(-1)];
  if (!first || !last) return [];
  const end = Date.parse(last.at);
  const start = Math.min(Date.parse(first.at), end - (FEWEST - 1) * step);
  const all: Placed[] = [];
  for (let at = start; at <= end; at += step) {
    const bar = known.get(at);
    all.push({ at: new Date(at), answers: bar?.answers ?? 0, annotators: bar?.annotators ?? 0 });
  }
  return all;
}

/** The time of a bar in a few letters, in the reader's own zone. */
export function barName(unit: string, at: Date): string {
  return unit === 'day' ? day(at) : clock(at);
}

/** When a campaign will have its answers: a time today, or a day. */
export function endName(ends: string, now: Date): string {
  const at = new Date(ends);
  if (at.toDateString() === now.toDateString()) return `today ${clock(at)}`;
  const weekday = at.toLocaleDateString('en-GB', { weekday: 'short' });
  return `${weekday} ${day(at)}, ${clock(at)}`;
}
