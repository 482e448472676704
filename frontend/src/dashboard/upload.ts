/** Sending files with progress, which `fetch` cannot report. */
import type { Upload } from '../api/types';

export function sendFiles(
  collectionId: string,
  files: File[],
  onprogress: (bytes: number) => void,
): Promise<Upload> {
  const form = new FormData();
  for (const file of files) form.append('files', file, file.name);
  return new Promise((resolve, reject) => {
    const http = new XMLHttpRequest();
    http.open('POST', `/api/collections/${collectionId}/files`);
    http.responseType = 'json';
    http.upload.addEventListener('progress', (event) => onprogress(event.loaded));
    http.addEventListener('load', () => {
      if (http.status < 300) resolve(http.response as Upload);
      else reject(new Error(detailOf(http)));
    });
    http.addEventListener('error', () =>
      reject(new Error('The server cannot be reached. Check your connection.')),
    );
    http.send(form);
  });
}

function detailOf(http: XMLHttpRequest): string {
  const body = http.response as { detail?: unknown } | null;
  return typeof body?.detail === 'string' ? body.detail : `The server replied ${http.status}.`;
}
