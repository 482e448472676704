/** What this browser remembers. Inside frames and private windows storage may be refused. */

const memory = new Map<string, string>();

export function recall<T>(key: string): T | null {
  let text: string | null | undefined = memory.get(key);
  try {
    text ??= localStorage.getItem(key);
    return text ? (JSON.parse(text) as T) : null;
  } catch {
    return null;
  }
}

export function remember(key: string, value: unknown): void {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(key, text);
    memory.delete(key);
  } catch {
    memory.set(key, text);
  }
}

export function forget(key: string): void {
  memory.delete(key);
  try {
    localStorage.removeItem(key);
  } catch {
    // Nothing was stored then.
  }
}

/** The random key by which the server knows this annotator again. */
export function annotatorKey(): string {
  const known = recall<string>('likewise:annotator-key');
  if (typeof known === 'string' && known.length >= 16 && known.length <= 128) return known;
  const key = randomId();
  remember('likewise:annotator-key', key);
  return key;
}

/** A random UUID, on pages without TLS too (`crypto.randomUUID` is refused there). */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
