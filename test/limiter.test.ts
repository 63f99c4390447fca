import { expect, test } from 'vitest';
import { createLimiter } from '../src/limiter.ts';

test('no more than `atOnce` run, the rest wait their turn, and what is too much is refused with 503', async () => {
  const limit = createLimiter({ atOnce: 2, maxWaiting: 3, message: 'Too much.' });
  const open: (() => void)[] = [];
  let most = 0;
  const order: number[] = [];
  let running = 0;
  const work = (id: number) => async (): Promise<number> => {
    running += 1;
    most = Math.max(most, running);
    await new Promise<void>((resolve) => open.push(resolve));
    running -= 1;
    order.push(id);
    if (id === 1) throw new Error('broken');
    return id;
  };
  const results = [0, 1, 2, 3, 4, 5].map((id) =>
    limit(work(id)).catch((err: { code?: string; message: string }) => err.code ?? err.message),
  );
  expect(await results[5]).toBe('unavailable');
  while (order.length < 5) {
    open.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await Promise.all(results)).toEqual([0, 'broken', 2, 3, 4, 'unavailable']);
  expect(order).toEqual([0, 1, 2, 3, 4]);
  expect(most).toBe(2);
  await expect(Promise.all([limit(async () => 'free'), limit(async () => 'again')])).resolves.toEqual(['free', 'again']);
});
