import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createThrottle } from '../../../src/webhooks/dispatcher/throttle.ts';

const clock = (): number => performance.now();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Returns how long a wait takes on the fake clock, in milliseconds. */
async function timed(wait: () => Promise<void>): Promise<number> {
  const startMs = clock();
  const end = wait().then(() => clock() - startMs);
  await vi.runAllTimersAsync();
  return end;
}

test('a throttle ends the first wait immediately, and the next one after the interval', async () => {
  const { wait } = createThrottle(() => 50, clock);
  expect(await timed(wait)).toBe(0);
  expect(await timed(wait)).toBe(50);
});

test('a throttle does not delay a wait that starts after the interval', async () => {
  const { wait } = createThrottle(() => 50, clock);
  await timed(wait);
  await vi.advanceTimersByTimeAsync(60);
  expect(await timed(wait)).toBe(0);
});

test('skipping ends the current wait of a throttle', async () => {
  const { wait, skip } = createThrottle(() => 50, clock);
  await timed(wait);
  const secondWait = timed(async () => {
    const end = wait();
    skip();
    await end;
  });
  expect(await secondWait).toBe(0);
});

test('skipping between two waits ends the next one immediately, but not the one after it', async () => {
  const { wait, skip } = createThrottle(() => 50, clock);
  await timed(wait);
  skip();
  expect(await timed(wait)).toBe(0);
  expect(await timed(wait)).toBe(50);
});
