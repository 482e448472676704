/** Words an annotator used for earlier groups, offered again. */
import { recall, remember } from './storage';

const MOST = 60;

/** The newest first, each once, whatever its capitals. */
export function mergeWords(earlier: readonly string[], used: readonly string[]): string[] {
  const merged = new Map<string, string>();
  for (const word of [...used, ...earlier]) {
    const text = word.trim();
    const key = text.toLowerCase();
    if (text !== '' && !merged.has(key)) merged.set(key, text);
  }
  return [...merged.values()].slice(0, MOST);
}

export async function earlierWords(place: string): Promise<string[]> {
  return (await recall<string[]>(wordsKey(place))) ?? [];
}

export async function rememberWords(place: string, used: readonly string[]): Promise<void> {
  await remember(wordsKey(place), mergeWords(await earlierWords(place), used));
}

const wordsKey = (place: string) => `words:${place}`;
