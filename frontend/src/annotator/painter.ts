/** Puts the pictures into the grid at work, and fetches those of the next grid ahead. */
import { ApiError } from '../api/errors';
import type { Access } from './access.svelte';
import * as api from './api';
import type { Board } from './board.svelte';
import { Pictures, type Size, sizesFor } from './pictures';
import { withRetries } from './retry';

/** Milliseconds of quiet before the next grid's images are fetched. */
const AHEAD_DELAY = 1500;

export class Painter {
  private readonly pictures: Pictures;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** isAt: whether this board is the one that is worked on. */
  constructor(
    private readonly access: Access,
    private readonly isAt: (board: Board) => boolean,
  ) {
    this.pictures = new Pictures((lease, size) =>
      withRetries(() => access.authorised((token) => api.leaseImages(token, lease, size))),
    );
  }

  /** Pictures of a grid that are on their way already. */
  expect(lease: string, images: Promise<ArrayBuffer>): void {
    this.pictures.expect(lease, 'small', images);
  }

  keepOnly(lease: string): void {
    this.pictures.keepOnly([lease]);
  }

  /** Puts the pictures in as they come, the small ones first; then fetches the next grid's. */
  async paint(board: Board): Promise<void> {
    try {
      for (const size of sizesOf(board)) {
        const addresses = await this.pictures.of(board.subject.id, size);
        if (!this.isAt(board)) return;
        board.pictures = addresses.map((address, k) => address ?? board.pictures[k] ?? null);
      }
    } catch (error) {
      // Each picture still has an address of its own.
      board.pictures = board.subject.images.map(({ url }) => url);
      if (!(error instanceof ApiError)) throw error;
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.fetchAhead(board), AHEAD_DELAY);
  }

  private async fetchAhead(board: Board): Promise<void> {
    if (!this.isAt(board)) return;
    try {
      const { lease } = await this.access.authorised(api.leaseAhead);
      if (!lease) return;
      for (const size of sizesOf(board)) await this.pictures.of(lease.id, size);
    } catch (error) {
      // Only a head start is lost; the next grid asks again.
      if (!(error instanceof ApiError)) throw error;
    }
  }
}

function sizesOf(board: Board): Size[] {
  const tile = document.querySelector('[data-image]');
  const edge = tile?.clientWidth ?? innerWidth / board.campaign.columns;
  return sizesFor(edge, devicePixelRatio);
}
