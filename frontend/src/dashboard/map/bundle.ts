/**
 * Several images in one reply: for each its length as four bytes, then its bytes. (The annotators'
 * page splits bundles with code of its own, so that it need not fetch a piece shared with this.)
 */
export function slices(bytes: ArrayBuffer): Uint8Array[] {
  const view = new DataView(bytes);
  const found: Uint8Array[] = [];
  for (let at = 0; at + 4 <= bytes.byteLength;) {
    const length = view.getUint32(at, true);
    found.push(new Uint8Array(bytes, at + 4, length));
    at += 4 + length;
  }
  return found;
}
