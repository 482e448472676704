/** Amounts in hundredths of a currency, as people write them. */

export function amount(cents: number, currency: string): string {
  try {
    return new Intl.NumberFormat('en', { style: 'currency', currency }).format(cents / 100);
  } catch {
    // Not a currency that this browser knows.
    return `${(cents / 100).toFixed(2)} ${currency}`;
  }
}

/** Hundredths of what was typed; null while it is no amount. */
export function centsOf(text: string): number | null {
  const value = Number(text.replace(',', '.').trim() || '0');
  return Number.isFinite(value) && value >= 0 ? Math.round(value * 100) : null;
}

export function duration(minutes: number): string {
  if (minutes < 90) return `${Math.max(1, Math.round(minutes))} min`;
  const hours = minutes / 60;
  return hours < 48 ? `${hours.toFixed(hours < 10 ? 1 : 0)} h` : `${Math.round(hours / 24)} days`;
}
