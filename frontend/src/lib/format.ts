/** Money, durations, times and sizes as people write them. Amounts of money are in cents. */

export function amount(cents: number, currency: string): string {
  try {
    return new Intl.NumberFormat('en', { style: 'currency', currency }).format(cents / 100);
  } catch {
    // Not a currency that this browser knows.
    return `${(cents / 100).toFixed(2)} ${currency}`;
  }
}

/** Cents of what was typed; null while it is no amount, or has parts of a cent. */
export function centsOf(text: string): number | null {
  const value = 100 * Number(text.replace(',', '.').trim() || '0');
  const cents = Math.round(value);
  return Number.isFinite(value) && value >= 0 && Math.abs(value - cents) < 1e-4 ? cents : null;
}

export function duration(minutes: number): string {
  if (minutes < 90) return `${Math.max(1, Math.round(minutes))} min`;
  const hours = minutes / 60;
  return hours < 48 ? `${hours.toFixed(hours < 10 ? 1 : 0)} h` : `${Math.round(hours / 24)} days`;
}

/** "14:03", in the reader's zone: pages have one clock, of 24 hours. */
export function clock(at: Date): string {
  return at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
}

/** "3 Oct" */
export function day(at: Date): string {
  return at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
}

/** "3 Oct 2026, 14:03" */
export function moment(iso: string): string {
  const at = new Date(iso);
  return `${day(at)} ${at.getFullYear()}, ${clock(at)}`;
}

/** "14:03" of today, "3 Oct, 14:03" of other days. */
export function when(iso: string, now = new Date()): string {
  const at = new Date(iso);
  if (at.toDateString() === now.toDateString()) return clock(at);
  return `${day(at)}, ${clock(at)}`;
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
