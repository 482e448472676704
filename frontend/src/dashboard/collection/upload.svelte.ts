/** The page's view of an upload: numbers that change a few times a second, not 10,000 items. */
import { collectionApi, reply } from '../../api/client';
import { reconnectDelay } from '../reconnect';
import { sha256 } from './hash';
import type { Item, ItemState } from './items';
import { Rate } from './rate';
import { sendFiles } from './send';
import { Transfer, type Server, type TransferState } from './transfer';

export interface Snapshot {
  state: TransferState;
  trouble: string;
  counts: Record<ItemState, number>;
  n: number;
  bytes: number;
  bytesDone: number;
  bytesPerSecond: number;
  filesPerSecond: number;
  secondsLeft: number;
  /** Those on their way now. */
  sending: Item[];
}

const TICK_MS = 250;

export class UploadView {
  shown = $state.raw<Snapshot | null>(null);

  private transfer: Transfer | null = null;
  /** Bytes that went out, those whose files are settled, and files that are. */
  private readonly sent = new Rate();
  private readonly bytes = new Rate();
  private readonly files = new Rate();
  private timer: ReturnType<typeof setInterval> | undefined;

  /** onprogress: called now and then while images come in, and at the end. */
  constructor(
    private readonly maxBytes: number,
    private readonly onprogress: (ended: boolean) => void,
  ) {}

  get items(): readonly Item[] {
    return this.transfer?.items ?? [];
  }

  get running(): boolean {
    return this.shown?.state === 'running';
  }

  /** Add files to what is being uploaded, or start again if that has ended. */
  async upload(collectionId: string, items: Item[]): Promise<void> {
    if (items.length === 0) return;
    if (!this.transfer || this.transfer.state === 'idle') {
      this.transfer = new Transfer(serverOf(collectionId), this.maxBytes);
    }
    this.transfer.add(items);
    await this.run();
  }

  async run(): Promise<void> {
    if (!this.transfer) return;
    this.sent.forget();
    this.bytes.forget();
    this.files.forget();
    clearInterval(this.timer);
    // First, so that its state is seen to be running.
    const ended = this.transfer.run();
    let settled = this.look().settled;
    let last = Date.now();
    this.timer = setInterval(() => {
      const now = this.look().settled;
      // The grid below shows what came in, without asking for it all the time.
      if (now > settled && Date.now() - last > 2000) {
        settled = now;
        last = Date.now();
        this.onprogress(false);
      }
    }, TICK_MS);
    await ended;
    if (this.transfer.state === 'running') return;
    clearInterval(this.timer);
    this.look();
    this.onprogress(true);
  }

  async pause(): Promise<void> {
    await this.transfer?.pause();
    this.look();
  }

  async cancel(): Promise<void> {
    await this.transfer?.cancel();
    this.look();
    this.onprogress(true);
  }

  /** Nothing to be told any more. */
  dismiss(): void {
    this.transfer = null;
    this.shown = null;
  }

  private look(): { settled: number } {
    const transfer = this.transfer;
    if (!transfer) return { settled: 0 };
    const counts: Record<ItemState, number> = {
      waiting: 0,
      sending: 0,
      added: 0,
      known: 0,
      used: 0,
      rejected: 0,
      cancelled: 0,
    };
    let bytes = 0;
    let sent = 0;
    let done = 0;
    const sending: Item[] = [];
    for (const item of transfer.items) {
      counts[item.state] += 1;
      bytes += item.size;
      sent += item.sent;
      if (item.state === 'sending') sending.push(item);
      else if (item.state !== 'waiting') done += item.size;
    }
    const settled = counts.added + counts.known + counts.used + counts.rejected;
    this.sent.note(Date.now(), sent);
    this.bytes.note(Date.now(), done);
    this.files.note(Date.now(), settled);
    const { perSecond } = this.bytes;
    this.shown = {
      state: transfer.state,
      trouble: transfer.trouble,
      counts,
      n: transfer.items.length,
      bytes,
      // A file that is sent still has to be read by the server: half of the way.
      bytesDone: (sent + done) / 2,
      bytesPerSecond: this.sent.perSecond,
      filesPerSecond: this.files.perSecond,
      secondsLeft: perSecond > 0 ? (bytes - done) / perSecond : Number.NaN,
      sending: sending.map((item) => ({ ...item })),
    };
    return { settled };
  }
}

function serverOf(collectionId: string): Server {
  const api = collectionApi(collectionId);
  return {
    async known(hashes) {
      const { known } = await reply(api.POST('/files/known', { body: { sha256: hashes } }));
      return new Map(known.map((file) => [file.sha256, file.filename]));
    },
    send: (files, onprogress, signal, aliases) =>
      sendFiles(collectionId, { files, onprogress, signal, aliases }),
    hash: sha256,
    pause: (failures, signal) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, reconnectDelay(failures, Math.random()));
        const now = () => {
          clearTimeout(timer);
          resolve();
        };
        addEventListener('online', now, { once: true });
        signal.addEventListener('abort', now, { once: true });
      }),
  };
}
