/** SHA-256 where the browser offers none: pages that came over plain http. */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

self.addEventListener('message', (event: MessageEvent<{ id: number; blob: Blob }>) => {
  void answer(event.data.id, event.data.blob);
});

async function answer(id: number, blob: Blob): Promise<void> {
  try {
    const hash = sha256.create();
    const reader = blob.stream().getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      hash.update(value);
    }
    self.postMessage({ id, hash: bytesToHex(hash.digest()) });
  } catch (error) {
    self.postMessage({ id, error: String(error) });
  }
}
