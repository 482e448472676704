/** One request with files, with progress, which `fetch` cannot report. */
import { problemOf, unreachable } from '../../api/errors';
import type { Upload } from '../../api/types';

export interface Sending {
  files: { name: string; blob: Blob }[];
  onprogress: (bytes: number) => void;
  signal: AbortSignal;
  aliases: Record<string, string>;
}

/** Without a byte going out or a reply coming for so long, the connection is taken for dead. */
const SILENCE_MS = 120_000;

/** Rejects with ApiError, or with the signal's reason. */
export function sendFiles(
  collectionId: string,
  { files, onprogress, signal, aliases }: Sending,
): Promise<Upload> {
  const form = new FormData();
  for (const { name, blob } of files) form.append('files', blob, name);
  if (Object.keys(aliases).length > 0) form.append('aliases', JSON.stringify(aliases));
  return new Promise((resolve, reject) => {
    const http = new XMLHttpRequest();
    const lost = () => reject(unreachable());
    let silence = setTimeout(() => http.abort(), SILENCE_MS);
    http.open('POST', `/api/v1/collections/${collectionId}/files`);
    http.setRequestHeader('Accept', 'application/json');
    http.responseType = 'json';
    http.upload.addEventListener('progress', (event) => {
      clearTimeout(silence);
      silence = setTimeout(() => http.abort(), SILENCE_MS);
      onprogress(event.loaded);
    });
    http.addEventListener('load', () => {
      if (http.status < 300 && http.response) resolve(http.response as Upload);
      else reject(problemOf(http.status, http.response));
    });
    http.addEventListener('error', lost);
    http.addEventListener('abort', lost);
    http.addEventListener('loadend', () => clearTimeout(silence));
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error);
      http.abort();
    });
    http.send(form);
  });
}
