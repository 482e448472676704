import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Ending } from './ending.svelte';
import type { Page } from './page.svelte';

const ADDRESS = 'https://app.prolific.test/submissions/complete?cc=C';
const calls: string[] = [];
let isHeard = true;

const page = {
  async attempt(action: () => unknown) {
    await action();
    return isHeard;
  },
  call: () => Promise.resolve(void calls.push('heard')),
} as unknown as Page;

function ending(): Ending {
  const handout = { status: 'done' as const, answered: 2, target: 2 };
  return new Ending(page, { kind: 'address', address: ADDRESS, fields: {} }, handout, false);
}

describe('submitting on the platform', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal('location', { assign: (address: string) => calls.push(address) });
    calls.length = 0;
    isHeard = true;
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it('tells our own server first, and leaves once however often the button is used', async () => {
    const one = ending();
    await Promise.all([one.send(), one.send()]);
    expect(calls).toEqual(['heard', ADDRESS]);
    expect(one.state).toBe('busy');
  });

  it('is offered again where the page is still there after ten seconds', async () => {
    const one = ending();
    await one.send();
    vi.advanceTimersByTime(9_900);
    expect(one.state).toBe('busy');
    vi.advanceTimersByTime(200);
    expect(one.state).toBe('late');
    await one.send();
    expect(calls.filter((what) => what === ADDRESS)).toHaveLength(2);
  });

  it('stays on the page where our own server does not hear of it', async () => {
    isHeard = false;
    const one = ending();
    await one.send();
    expect(calls).not.toContain(ADDRESS);
    expect(one.state).toBe('late');
  });
});
