import { describe, expect, it, vi } from 'vitest';
import { ApiError } from '../api/errors';
import { backoff, withRetries } from './retry';

const offline = new ApiError('network', 0, 'offline');
const refused = new ApiError('bad_groups', 422, 'refused');

function quietly() {
  const waits: number[] = [];
  const sleep = (milliseconds: number) => {
    waits.push(milliseconds);
    return Promise.resolve();
  };
  return { waits, options: { sleep, random: () => 1 } };
}

describe('backoff', () => {
  it('doubles up to a limit', () => {
    expect([1, 2, 3, 4, 5, 6].map((n) => backoff(n, () => 1))).toEqual([
      500, 1000, 2000, 4000, 8000, 8000,
    ]);
  });

  it('never falls below half of that', () => {
    expect(backoff(3, () => 0)).toBe(1000);
  });
});

describe('withRetries', () => {
  it('repeats until the reply comes', async () => {
    const { waits, options } = quietly();
    const busy = new ApiError('http_503', 503, 'busy');
    const operation = vi.fn().mockRejectedValueOnce(offline).mockRejectedValueOnce(busy);
    operation.mockResolvedValueOnce('stored');
    const onRetry = vi.fn();
    await expect(withRetries(operation, { ...options, onRetry })).resolves.toBe('stored');
    expect(waits).toEqual([500, 1000]);
    expect(onRetry).toHaveBeenLastCalledWith(busy, 2);
  });

  it('does not repeat what the server refused, nor mistakes of the page', async () => {
    const { waits, options } = quietly();
    for (const error of [refused, new TypeError('mistake')]) {
      const operation = vi.fn().mockRejectedValue(error);
      await expect(withRetries(operation, options)).rejects.toBe(error);
      expect(operation).toHaveBeenCalledOnce();
    }
    expect(waits).toEqual([]);
  });

  it('gives up after the last attempt', async () => {
    const { waits, options } = quietly();
    const operation = vi.fn().mockRejectedValue(offline);
    await expect(withRetries(operation, { ...options, attempts: 3 })).rejects.toBe(offline);
    expect(operation).toHaveBeenCalledTimes(3);
    expect(waits).toHaveLength(2);
  });
});
