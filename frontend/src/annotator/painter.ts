/** Puts the pictures into the grid at work, and fetches those of the next grid ahead. */
import { ApiError } from '../api/errors';
import type { Access } from './access.svelte';
import * as api from './api';
import type { Board } from './board.svelte';
import { Pictures, type Size, sizesFor } from './pictures';
import { backoff, waitOrOnline, withRetries } from './retry';

/** How often a grid's pictures are asked for together, before each is asked for by itself. */
const ATTEMPTS = 3;
/** Milliseconds after which nobody has to wait for a picture any longer. */
const PATIENCE = 60_000;
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
      withRetries(() => access.authorised((token) => api.leaseImages(token, lease, size)), {
        attempts: ATTEMPTS,
      }),
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
    void recover(board, () => this.isAt(board));
    try {
      for (const size of sizesOf(board)) {
        const addresses = await this.pictures.of(board.subject.id, size);
        if (!this.isAt(board)) return;
        board.pictures = addresses.map((address, k) => address ?? board.pictures[k]);
      }
      fallBack(board);
    } catch (error) {
      fallBack(board);
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

/** Each picture still has an address of its own. */
function fallBack(board: Board): void {
  board.pictures = board.pictures.map((address, k) => address ?? board.subject.images[k]!.url);
}

/** Asks for pictures that did not come again, as long as the grid is worked on. */
export async function recover(board: Board, isAt: () => boolean): Promise<void> {
  const timer = setTimeout(() => {
    board.painted.giveUp();
    fallBack(board);
  }, PATIENCE);
  for (let attempt = 1; ; attempt++) {
    await waitOrOnline(backoff(attempt));
    if (!isAt()) return clearTimeout(timer);
    // The fragment makes it another address to the page, and the same one to the server.
    board.pictures = board.pictures.map((address, k) => {
      const { image, url } = board.subject.images[k]!;
      return board.painted.isDue(image) ? `${url}#${attempt}` : address;
    });
  }
}

function sizesOf(board: Board): Size[] {
  const tile = document.querySelector('[data-image]');
  const edge = tile?.clientWidth ?? innerWidth / board.campaign.columns;
  return sizesFor(edge, devicePixelRatio);
}
