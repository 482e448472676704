import { expect, test } from 'vitest';
import { reconnectDelay } from './reconnect';

test('pages wait longer after every failure, but never more than half a minute', () => {
  expect(reconnectDelay(0, 1)).toBe(1_000);
  expect(reconnectDelay(3, 1)).toBe(8_000);
  expect(reconnectDelay(500, 1)).toBe(30_000);
});

test('pages that failed together do not come back together', () => {
  expect(reconnectDelay(2, 0)).toBe(2_000);
  expect(reconnectDelay(2, 0.5)).toBe(3_000);
});
