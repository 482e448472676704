/** SHA-256 of a file in hex, off the main thread. */
import HashWorker from './hash.worker.ts?worker';

let worker: Worker | null = null;
let asked = 0;

export async function sha256(blob: Blob): Promise<string> {
  // Browsers have Web Crypto on https and on localhost only.
  if (typeof crypto !== 'undefined' && crypto.subtle) {
    return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', await blob.arrayBuffer())));
  }
  return inWorker(blob);
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function inWorker(blob: Blob): Promise<string> {
  worker ??= new HashWorker();
  const hasher = worker;
  const id = (asked += 1);
  return new Promise((resolve, reject) => {
    const heard = (event: MessageEvent<{ id: number; hash?: string; error?: string }>) => {
      if (event.data.id !== id) return;
      hasher.removeEventListener('message', heard);
      if (event.data.hash) resolve(event.data.hash);
      else reject(new Error(event.data.error));
    };
    hasher.addEventListener('message', heard);
    hasher.postMessage({ id, blob });
  });
}
