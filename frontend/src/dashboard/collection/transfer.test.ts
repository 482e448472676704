import { beforeEach, describe, expect, it } from 'vitest';
import { ApiError } from '../../api/errors';
import type { Upload } from '../../api/types';
import { itemOf, type Item } from './items';
import { Transfer, type Server } from './transfer';

/** A server that keeps what it gets, and fails when told to. */
class FakeServer implements Server {
  readonly kept = new Map<string, string>();
  readonly requests: string[][] = [];
  readonly aliases: Record<string, string>[] = [];
  pauses = 0;
  /** Called before a request is taken in, and before its reply is sent. */
  before: () => void = () => undefined;
  after: () => void = () => undefined;

  known(hashes: string[]): Promise<Map<string, string>> {
    const found = hashes.flatMap((hash): [string, string][] => {
      const name = this.kept.get(hash);
      return name === undefined ? [] : [[hash, name]];
    });
    return Promise.resolve(new Map(found));
  }

  async send(
    files: { name: string; blob: Blob }[],
    _progress: (bytes: number) => void,
    signal: AbortSignal,
    aliases: Record<string, string>,
  ): Promise<Upload> {
    await Promise.resolve();
    if (signal.aborted) throw signal.reason as Error;
    this.before();
    this.requests.push(files.map((file) => file.name));
    this.aliases.push(aliases);
    const reply: Upload = {
      added: [],
      duplicates: [],
      rejected: [],
      partly_used: [],
      attributes: [],
      n_images: 0,
    };
    for (const { name, blob } of files) {
      const text = await blob.text();
      const same = this.kept.get(text);
      if (text.startsWith('broken')) {
        reply.rejected.push({ filename: name, code: 'not_an_image', reason: 'Not an image.' });
      } else if (same !== undefined) {
        reply.duplicates.push({ filename: name, same_as: same });
      } else {
        if (!name.endsWith('.csv')) this.kept.set(text, name);
        else if (text.includes('nobody')) {
          reply.partly_used.push({ filename: name, reason: '1 of 2 rows names no image.' });
        }
        reply.added.push({ filename: name, position: this.kept.size });
      }
    }
    this.after();
    return reply;
  }

  hash(blob: Blob): Promise<string> {
    return blob.text();
  }

  pause(): Promise<void> {
    this.pauses += 1;
    return Promise.resolve();
  }
}

const offline = () => {
  throw new ApiError('network', 0, 'The server cannot be reached.');
};

function file(name: string, text = name): Item {
  const blob = new Blob([text]);
  return itemOf(`folder/${name}`, blob.size, () => Promise.resolve(blob));
}

const folder = (n: number) => Array.from({ length: n }, (_, k) => file(`${k}.png`));

function counts(items: Item[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const item of items) found[item.state] = (found[item.state] ?? 0) + 1;
  return found;
}

let server: FakeServer;
const transfer = () => new Transfer(server, 1000);

beforeEach(() => {
  server = new FakeServer();
});

describe('an upload', () => {
  it('tells tables the other names of images, and of a table which rows were not used', async () => {
    const table = file('table.csv', 'filename,colour\nnobody.png,red');
    const upload = transfer();
    upload.add([table, file('a.png', 'same'), file('b.png', 'same')]);
    await upload.run();
    expect(server.aliases).toEqual([{}, { 'b.png': 'a.png' }]);
    expect([table.state, table.note]).toEqual(['used', '1 of 2 rows names no image.']);
  });

  it('sends every file once, tables last', async () => {
    const upload = transfer();
    upload.add([file('t.csv'), ...folder(130)]);
    await upload.run();
    expect(counts(upload.items)).toEqual({ added: 130, used: 1 });
    expect(server.kept.size).toBe(130);
    expect(server.requests.at(-1)).toEqual(['t.csv']);
    expect(server.requests.flat()).toHaveLength(131);
  });

  it('sends nothing that is there already, so that a second drop goes on where it stopped', async () => {
    const first = transfer();
    first.add(folder(50));
    await first.run();
    const sent = server.requests.flat().length;
    const second = transfer();
    second.add(folder(80));
    await second.run();
    expect(counts(second.items)).toEqual({ known: 50, added: 30 });
    expect(server.requests.flat()).toHaveLength(sent + 30);
  });

  it('tries again after a lost connection, and counts what had arrived as added', async () => {
    let asked = 0;
    let answered = 0;
    server.before = () => ((asked += 1) === 2 ? offline() : undefined);
    server.after = () => ((answered += 1) === 3 ? offline() : undefined);
    const upload = transfer();
    upload.add(folder(100));
    await upload.run();
    expect(counts(upload.items)).toEqual({ added: 100 });
    expect(server.kept.size).toBe(100);
    expect(server.pauses).toBe(2);
    expect(upload.trouble).toBe('');
    // The batch whose reply was lost is not sent a second time.
    expect(server.requests.flat()).toHaveLength(100);
  });

  it('keeps a bad file from stopping the others', async () => {
    const upload = transfer();
    upload.add([...folder(30), file('b.png', 'broken'), itemOf('big.png', 1001, () => offline())]);
    await upload.run();
    expect(counts(upload.items)).toEqual({ added: 30, rejected: 2 });
    const notes = upload.items.filter((one) => one.state === 'rejected').map((one) => one.note);
    expect(notes).toEqual(['Not an image.', expect.stringContaining('larger than')]);
  });

  it('names a file that vanished, and the one that makes the server refuse a request', async () => {
    const gone = itemOf('gone.png', 10, () => Promise.reject(new Error('not found')));
    server.before = () => undefined;
    const send = server.send.bind(server);
    server.send = (files, ...rest) => {
      if (files.some((one) => one.name === '7.png')) {
        return Promise.reject(new ApiError('too_large', 413, 'The request is too large.'));
      }
      return send(files, ...rest);
    };
    const upload = transfer();
    upload.add([...folder(20), gone]);
    await upload.run();
    expect(counts(upload.items)).toEqual({ added: 19, rejected: 2 });
    expect(upload.items.find((one) => one.name === '7.png')?.note).toBe(
      'The request is too large.',
    );
  });

  it('folds copies within the upload without sending them', async () => {
    const upload = transfer();
    upload.add([file('a.png', 'same'), file('b.png', 'same'), file('c.png')]);
    await upload.run();
    expect(upload.items.map((one) => [one.state, one.note])).toEqual([
      ['added', ''],
      ['known', 'a.png'],
      ['added', ''],
    ]);
    expect(server.requests.flat().sort()).toEqual(['a.png', 'c.png']);
  });

  it('is paused, goes on and loses nothing', async () => {
    const upload = transfer();
    upload.add(folder(200));
    let pausing: Promise<void> | undefined;
    server.before = () => {
      if (server.requests.length === 3) pausing ??= upload.pause();
    };
    await upload.run();
    await pausing;
    expect(upload.state).toBe('paused');
    expect(server.kept.size).toBeLessThan(200);
    expect(counts(upload.items).sending).toBeUndefined();
    await upload.run();
    expect(counts(upload.items)).toEqual({ added: 200 });
    expect(server.kept.size).toBe(200);
  });

  it('stops when signed out, says so, and goes on later', async () => {
    let signedIn = false;
    server.before = () => {
      if (!signedIn) throw new ApiError('sign_in_required', 401, 'Sign in.');
    };
    const upload = transfer();
    upload.add(folder(60));
    await upload.run();
    expect(upload.state).toBe('failed');
    expect(upload.trouble).toContain('signed out');
    expect(counts(upload.items)).toEqual({ waiting: 60 });
    signedIn = true;
    await upload.run();
    expect(counts(upload.items)).toEqual({ added: 60 });
  });

  it('is cancelled: what is there stays, the rest is told apart', async () => {
    const upload = transfer();
    upload.add(folder(200));
    let cancelling: Promise<void> | undefined;
    server.before = () => {
      if (server.requests.length === 3) cancelling ??= upload.cancel();
    };
    await upload.run();
    await cancelling;
    const found = counts(upload.items);
    expect(found.added! + found.cancelled!).toBe(200);
    expect(upload.state).toBe('idle');
  });
});
