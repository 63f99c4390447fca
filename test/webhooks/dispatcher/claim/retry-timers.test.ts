import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRetryTimers, type RetryTimers } from '../../../../src/webhooks/dispatcher/claim/ready-queue.ts';

let rung: { atMs: number; endpointIds: readonly number[] }[];
let alarms: RetryTimers;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  rung = [];
  alarms = createRetryTimers((endpointIds) => rung.push({ atMs: Date.now(), endpointIds }), Date.now);
});
afterEach(() => vi.useRealTimers());

test('a retry wakes the worker within a quarter of a second after it is due, and never earlier', () => {
  const delaysMs = [0, 1, 249, 250, 1000, 5123, 59_999];
  for (const inMs of delaysMs) alarms.set(inMs, inMs);
  vi.advanceTimersByTime(61_000);
  for (const inMs of delaysMs) {
    const rings = rung.filter(({ endpointIds }) => endpointIds.includes(inMs));
    expect(rings).toHaveLength(1);
    expect(rings[0]?.atMs).toBeGreaterThan(inMs);
    expect(rings[0]?.atMs).toBeLessThanOrEqual(inMs + 250);
  }
});

test('a thousand retries that are due together wake the worker once', () => {
  for (let count = 0; count < 1000; count++) alarms.set(count % 3, 1000 + (count % 200));
  vi.advanceTimersByTime(2000);
  expect(rung).toEqual([{ atMs: 1250, endpointIds: [0, 1, 2] }]);
});

test('a wait of hours needs no timer, and no timer fires after the stop', () => {
  alarms.set(1, 3_600_000);
  expect(vi.getTimerCount()).toBe(0);
  alarms.set(1, 1000);
  alarms.stop();
  vi.advanceTimersByTime(3_600_000);
  expect(rung).toEqual([]);
});
