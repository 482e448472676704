/** Small things this browser remembers and that are needed at once: read without waiting. */

const memory = new Map<string, string>();

export function noted<T>(key: string): T | null {
  let text: string | null | undefined = memory.get(key);
  try {
    text ??= localStorage.getItem(`likewise:${key}`);
    return text ? (JSON.parse(text) as T) : null;
  } catch {
    // Storage may be refused in frames and private windows.
    return text ? (JSON.parse(text) as T) : null;
  }
}

export function note(key: string, value: unknown): void {
  const text = JSON.stringify(value);
  memory.set(key, text);
  try {
    localStorage.setItem(`likewise:${key}`, text);
  } catch {
    // The page's own copy lasts as long as the page.
  }
}

export function unnote(key: string): void {
  memory.delete(key);
  try {
    localStorage.removeItem(`likewise:${key}`);
  } catch {
    // Nothing was stored then.
  }
}

export function storageWorks(): boolean {
  try {
    localStorage.setItem('likewise:test', '1');
    localStorage.removeItem('likewise:test');
    return true;
  } catch {
    return false;
  }
}
