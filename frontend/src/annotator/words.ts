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

export function earlierWords(link: string): string[] {
  return recall<string[]>(wordsKey(link)) ?? [];
}

export function rememberWords(link: string, used: readonly string[]): void {
  remember(wordsKey(link), mergeWords(earlierWords(link), used));
}

const wordsKey = (link: string) => `likewise:words:${link}`;
