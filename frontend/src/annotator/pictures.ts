/** A grid's images: one request brings all, as small as this screen needs. */

export type Size = 'small' | 'thumb';

/** Longest edge of the small images, in pixels. */
const SMALL = 128;

/** Splits a bundle: for each image its length (four bytes, little-endian), then its bytes. */
export function splitBundle(bundle: ArrayBuffer): ArrayBuffer[] {
  const view = new DataView(bundle);
  const parts: ArrayBuffer[] = [];
  for (let at = 0; at < bundle.byteLength;) {
    const length = view.getUint32(at, true);
    parts.push(bundle.slice(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return parts;
}

/** Sizes to fetch, one after the other, for images shown `edge` CSS pixels large. */
export function sizesFor(edge: number, ratio: number): Size[] {
  // Slightly larger than what there is looks the same; the small ones come first on any line.
  return edge * ratio <= SMALL * 1.25 ? ['small'] : ['small', 'thumb'];
}

export type FetchBundle = (lease: string, size: Size) => Promise<ArrayBuffer>;

/** Addresses of the pictures of the grids at work and ahead, by lease. */
export class Pictures {
  private readonly known = new Map<string, Map<Size, Promise<(string | null)[]>>>();

  constructor(private readonly fetchBundle: FetchBundle) {}

  /** An address for each image in the grid's order; null where one is missing. */
  of(lease: string, size: Size): Promise<(string | null)[]> {
    const known = this.known.get(lease)?.get(size);
    return known ?? this.bring(lease, size, this.fetchBundle(lease, size));
  }

  /** Pictures that are on their way already; if they do not arrive they are fetched. */
  expect(lease: string, size: Size, bundle: Promise<ArrayBuffer>): void {
    void this.bring(
      lease,
      size,
      bundle.catch(() => this.fetchBundle(lease, size)),
    );
  }

  private bring(
    lease: string,
    size: Size,
    bundle: Promise<ArrayBuffer>,
  ): Promise<(string | null)[]> {
    const sizes = this.known.get(lease) ?? new Map<Size, Promise<(string | null)[]>>();
    this.known.set(lease, sizes);
    const loading = bundle.then(addressesOf);
    sizes.set(size, loading);
    loading.catch(() => sizes.delete(size));
    return loading;
  }

  /** Frees the pictures of all other leases. */
  keepOnly(leases: readonly string[]): void {
    for (const [lease, sizes] of this.known) {
      if (leases.includes(lease)) continue;
      this.known.delete(lease);
      for (const loading of sizes.values()) void loading.then(revoke, () => {});
    }
  }
}

function addressesOf(bundle: ArrayBuffer): (string | null)[] {
  return splitBundle(bundle).map((bytes) =>
    bytes.byteLength === 0 ? null : URL.createObjectURL(new Blob([bytes], { type: 'image/webp' })),
  );
}

function revoke(addresses: readonly (string | null)[]): void {
  for (const address of addresses) if (address !== null) URL.revokeObjectURL(address);
}
