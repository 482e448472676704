/**
 * An upload: hashes files, asks the server which it has, sends the others in parallel batches, and
 * again after a lost connection. Knows no page and no browser, so that it can be tested.
 */
import { ApiError } from '../../api/errors';
import type { Upload } from '../../api/types';
import { MAX_FILES, takeBatch } from './batches';
import { isTable, type Item } from './items';

export interface Server {
  /** Names of those files that the collection has, by hash. */
  known(hashes: string[]): Promise<Map<string, string>>;
  send(
    files: { name: string; blob: Blob }[],
    onprogress: (bytes: number) => void,
    signal: AbortSignal,
    /** Other names that tables may have for images, to the names these have. */
    aliases: Record<string, string>,
  ): Promise<Upload>;
  hash(blob: Blob): Promise<string>;
  /** Resolves after a time that grows with the failures, or as soon as trying again may help. */
  pause(failures: number, signal: AbortSignal): Promise<void>;
}

export type TransferState = 'idle' | 'running' | 'paused' | 'failed';

const PARALLEL = 3;
const HASHES_AT_ONCE = 4;
const ASKED_AT_ONCE = 100;
/** Hashing runs ahead of sending by so many bytes and no more. */
const BYTES_AHEAD = 64 * 2 ** 20;
/** Fewer files ready than this, and more are hashed. */
const LOW = PARALLEL * MAX_FILES;

class Stopped extends Error {}

export class Transfer {
  readonly items: Item[] = [];
  state: TransferState = 'idle';
  /** Why nothing goes on, or that the server cannot be reached at the moment. */
  trouble = '';

  private waiting: Item[] = [];
  private ready: Item[] = [];
  private tables: Item[] = [];
  /** First item of each content, whose other copies need not be sent. */
  private readonly byHash = new Map<string, Item>();
  private stop = new AbortController();
  private workers: Promise<void> = Promise.resolve();
  private filling: Promise<void> | null = null;

  constructor(
    private readonly server: Server,
    private readonly maxBytes: number,
  ) {}

  add(items: Item[]): void {
    for (const item of items) {
      this.items.push(item);
      if (item.state !== 'waiting') continue;
      if (item.size > this.maxBytes) {
        reject(item, `The file is larger than ${Math.floor(this.maxBytes / 2 ** 20)} MB.`);
      } else if (isTable(item)) {
        this.tables.push(item);
      } else {
        this.waiting.push(item);
      }
    }
  }

  /** Work until all is settled, or it is paused, cancelled or cannot go on. */
  async run(): Promise<void> {
    if (this.state === 'running') return;
    this.state = 'running';
    this.trouble = '';
    this.stop = new AbortController();
    this.workers = this.work();
    await this.workers;
  }

  private async work(): Promise<void> {
    const workers = Array.from({ length: PARALLEL }, () => this.sendReady());
    const ended = await Promise.allSettled(workers.map((worker) => this.stoppingAll(worker)));
    // Last, so that the images they name are there.
    ended.push(...(await Promise.allSettled([this.stoppingAll(this.sendTables())])));
    const errors = ended.flatMap((one): unknown[] =>
      one.status === 'rejected' ? [one.reason] : [],
    );
    const error = errors.find((one) => !(one instanceof Stopped));
    if (error !== undefined) {
      this.state = 'failed';
      this.trouble = sentenceOf(error);
    } else if (errors.length === 0) {
      this.state = 'idle';
    }
  }

  /** What one cannot do, the others need not try. */
  private async stoppingAll(worker: Promise<void>): Promise<void> {
    try {
      await worker;
    } catch (error) {
      this.stop.abort(new Stopped());
      throw error;
    }
  }

  async pause(): Promise<void> {
    if (this.state !== 'running') return;
    this.state = 'paused';
    this.stop.abort(new Stopped());
    await this.workers;
  }

  /** What is there stays; the rest is not sent. */
  async cancel(): Promise<void> {
    this.state = 'paused';
    this.stop.abort(new Stopped());
    await this.workers;
    for (const item of this.items) {
      if (item.state === 'waiting' || item.state === 'sending') item.state = 'cancelled';
    }
    this.waiting = [];
    this.ready = [];
    this.tables = [];
    this.state = 'idle';
  }

  /** Hash some of the waiting files; those that need sending become ready. */
  private async fill(): Promise<void> {
    const some: Item[] = [];
    let bytes = this.ready.reduce((sum, item) => sum + item.size, 0);
    while (this.waiting.length > 0 && some.length < ASKED_AT_ONCE && bytes < BYTES_AHEAD) {
      const item = this.waiting.shift()!;
      bytes += item.size;
      some.push(item);
    }
    try {
      await this.hashAll(some);
      const asked = some.filter((item) => item.state === 'waiting');
      const known = await this.ask(asked.map((item) => item.hash));
      for (const item of asked) this.sort(item, known);
    } catch (error) {
      // Not lost: asked again when it goes on.
      this.waiting.unshift(...some.filter((item) => item.state === 'waiting'));
      throw error;
    }
  }

  private async hashAll(items: Item[]): Promise<void> {
    const left = [...items];
    const hasher = async () => {
      for (let item = left.shift(); item; item = left.shift()) {
        this.throwIfStopped();
        const blob = item.hash ? null : await this.readOrReject(item);
        if (blob) item.hash = await this.server.hash(blob);
      }
    };
    await Promise.all(Array.from({ length: HASHES_AT_ONCE }, hasher));
  }

  private async ask(hashes: string[]): Promise<Map<string, string>> {
    if (hashes.length === 0) return new Map();
    return this.persistently(() => this.server.known(hashes));
  }

  private sort(item: Item, known: Map<string, string>): void {
    const name = known.get(item.hash);
    const first = this.byHash.get(item.hash);
    if (name !== undefined) {
      settle(item, item.tried ? 'added' : 'known', name);
    } else if (first && first !== item && first.state !== 'cancelled') {
      settle(item, 'known', first.name);
    } else {
      this.byHash.set(item.hash, item);
      this.ready.push(item);
    }
  }

  private async sendReady(): Promise<void> {
    for (;;) {
      this.throwIfStopped();
      if (this.ready.length < LOW && this.waiting.length > 0) this.fillBehind();
      const batch = takeBatch(this.ready);
      if (batch.length > 0) await this.sendBatch(batch);
      else if (this.filling) await this.filling;
      else return;
    }
  }

  /** Hashing goes on while batches are sent. */
  private fillBehind(): void {
    this.filling ??= this.fill().finally(() => (this.filling = null));
    // The caller that waits for it gets the error; if none waits, the next one does.
    this.filling.catch(() => undefined);
  }

  private async sendTables(): Promise<void> {
    while (this.tables.length > 0) {
      this.throwIfStopped();
      const table = this.tables.shift()!;
      await this.sendBatch([table], this.tables);
    }
  }

  /** Send a batch until the server has replied; its files go back if the upload is stopped. */
  private async sendBatch(batch: Item[], back: Item[] = this.ready): Promise<void> {
    let left = batch;
    try {
      await this.persistently(async (failures) => {
        // The reply may have been lost after the files had arrived.
        if (failures > 0) left = await this.stillUnknown(left);
        if (left.length > 0) await this.sendOnce(left);
      });
    } catch (error) {
      const unsent = left.filter((item) => item.state === 'sending' || item.state === 'waiting');
      if (!this.stop.signal.aborted && error instanceof ApiError && isAboutContent(error)) {
        await this.separately(unsent, error);
        return;
      }
      for (const item of unsent) restart(item);
      back.unshift(...unsent);
      throw error;
    }
  }

  private async sendOnce(batch: Item[]): Promise<void> {
    const read = await Promise.all(batch.map((item) => this.readOrReject(item)));
    this.throwIfStopped();
    const files = read.flatMap((blob, at) => (blob ? [{ item: batch[at]!, blob }] : []));
    const items = files.map((one) => one.item);
    if (items.length === 0) return;
    const before = new Set(items.filter((item) => item.tried).map((item) => item.name));
    for (const item of items) Object.assign(item, { state: 'sending', tried: true });
    const reply = await this.server.send(
      files.map(({ item, blob }) => ({ name: item.name, blob })),
      (bytes) => spread(items, bytes),
      this.stop.signal,
      items.some(isTable) ? this.aliases() : {},
    );
    settleAll(items, reply, before);
  }

  /** Of files that were not sent or kept because the collection has them by another name. */
  private aliases(): Record<string, string> {
    const doubled = this.items.filter((item) => item.state === 'known' && item.note !== item.name);
    return Object.fromEntries(doubled.map((item) => [item.name, item.note]));
  }

  private async readOrReject(item: Item): Promise<Blob | null> {
    try {
      return await item.read();
    } catch (error) {
      reject(item, `The file cannot be read (${sentenceOf(error)}).`);
      return null;
    }
  }

  private async stillUnknown(batch: Item[]): Promise<Item[]> {
    for (const item of batch) restart(item);
    const images = batch.filter((item) => item.hash !== '');
    if (images.length === 0) return batch;
    const known = await this.server.known(images.map((item) => item.hash));
    for (const item of images) {
      if (known.has(item.hash)) settle(item, 'added', '');
    }
    return batch.filter((item) => item.state === 'waiting');
  }

  /** The server refuses the request as a whole: find out for which file. */
  private async separately(batch: Item[], error: ApiError): Promise<void> {
    if (batch.length === 1) return reject(batch[0]!, error.detail);
    for (const item of batch) restart(item);
    for (const item of batch) await this.sendBatch([item]);
  }

  /** Do it again, after growing pauses, as long as the trouble is temporary. */
  private async persistently<Result>(act: (failures: number) => Promise<Result>): Promise<Result> {
    for (let failures = 0; ; failures += 1) {
      this.throwIfStopped();
      try {
        const result = await act(failures);
        this.trouble = '';
        return result;
      } catch (error) {
        if (!(error instanceof ApiError && error.temporary) || this.stop.signal.aborted)
          throw error;
        this.trouble = `${error.detail} Trying again…`;
        await this.server.pause(failures, this.stop.signal);
      }
    }
  }

  private throwIfStopped(): void {
    if (this.stop.signal.aborted) throw new Stopped();
  }
}

/** Not of the account or the collection, but of what was sent. */
function isAboutContent(error: ApiError): boolean {
  return error.status === 413 || error.status === 422 || error.status === 400;
}

function settleAll(batch: Item[], reply: Upload, sentBefore: Set<string>): void {
  const refused = new Map(reply.rejected.map((file) => [file.filename, file.reason]));
  const partly = new Map(reply.partly_used.map((file) => [file.filename, file.reason]));
  const doubled = new Map(reply.duplicates.map((file) => [file.filename, file.same_as]));
  for (const item of batch) {
    const reason = refused.get(item.name);
    const same = doubled.get(item.name);
    if (reason !== undefined) reject(item, reason);
    // What a lost request had brought already is a duplicate of itself.
    else if (same !== undefined && !sentBefore.has(item.name)) settle(item, 'known', same);
    else if (isTable(item)) settle(item, 'used', partly.get(item.name) ?? '');
    else settle(item, 'added', '');
  }
}

function settle(item: Item, state: 'added' | 'known' | 'used', note: string): void {
  item.state = state;
  item.note = note;
  item.sent = item.size;
}

function reject(item: Item, reason: string): void {
  item.state = 'rejected';
  item.note = reason;
  item.sent = item.size;
}

function restart(item: Item): void {
  item.state = 'waiting';
  item.sent = 0;
}

/** Bytes of a request go out file after file. */
function spread(batch: Item[], bytes: number): void {
  let left = bytes;
  for (const item of batch) {
    item.sent = Math.max(0, Math.min(item.size, left));
    left -= item.size;
  }
}

function sentenceOf(error: unknown): string {
  if (error instanceof ApiError) {
    if (error.status === 401) return 'You are signed out. Sign in in another tab, then resume.';
    return error.detail;
  }
  return error instanceof Error ? error.message : String(error);
}
