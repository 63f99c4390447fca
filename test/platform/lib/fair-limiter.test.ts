import { expect, test, vi } from 'vitest';
import { createLimiter } from '../../../src/platform/lib/fair-limiter.ts';
import { problem } from '../../../src/platform/problem.ts';

const message = problem('reportsWaiting');

test('runs at most `maxConcurrent` tasks, queues others in order, and rejects excess with 503', async () => {
  const limit = createLimiter({ maxConcurrent: 2, maxWaitingPerClient: 3, message });
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
  await expect(Promise.all([limit(async () => 'free'), limit(async () => 'again')])).resolves.toEqual([
    'free',
    'again',
  ]);
});

/** Creates tasks that run until the test finishes them by name. `begun` lists the tasks in starting order. */
function gates() {
  const begun: string[] = [];
  const open = new Map<string, () => void>();
  const work = (name: string) => (): Promise<string> => {
    begun.push(name);
    return new Promise((resolve) => open.set(name, () => resolve(name)));
  };
  return { begun, work, finish: (name: string) => open.get(name)?.() };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('serves clients in turn, so that a flood of one delays another by only one task', async () => {
  const limit = createLimiter({
    maxConcurrent: 2,
    maxConcurrentPerClient: 1,
    maxWaitingPerClient: 2,
    message,
  });
  const { begun, work, finish } = gates();
  const flood = [1, 2, 3].map((at) => limit(work(`a${at}`), { client: 1 }));
  await expect(limit(work('a4'), { client: 1 })).rejects.toMatchObject({ code: 'unavailable', retryAfterS: 1 });
  const others = [limit(work('b1'), { client: 2 }), limit(work('c1'), { client: 3 }), limit(work('b2'), { client: 2 })];
  expect(begun).toEqual(['a1', 'b1']);
  for (const name of ['a1', 'b1', 'a2', 'b2', 'c1', 'a3']) {
    finish(name);
    await settled();
  }
  expect(begun).toEqual(['a1', 'b1', 'a2', 'b2', 'c1', 'a3']);
  expect(await Promise.all([...flood, ...others])).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'b2']);
});

test('limits the queued tasks of all clients together', async () => {
  const limit = createLimiter({ maxConcurrent: 1, maxWaitingPerClient: 2, maxWaiting: 3, message });
  const { work, finish } = gates();
  const all = ['a', 'b', 'c', 'd'].map((name) => limit(work(name), { client: name }));
  await expect(limit(work('e'), { client: 'e' })).rejects.toMatchObject({ code: 'unavailable' });
  finish('a');
  await settled();
  const later = limit(work('f'), { client: 'f' });
  for (const name of ['b', 'c', 'd', 'f']) {
    finish(name);
    await settled();
  }
  expect(await Promise.all([...all, later])).toEqual(['a', 'b', 'c', 'd', 'f']);
});

test('does not start an aborted task, and rejects one that waits too long', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const limit = createLimiter({ maxConcurrent: 1, maxWaitingPerClient: 2, maxWaitMs: 1000, message });
    const { begun, work, finish } = gates();
    const gone = new AbortController();
    const first = limit(work('first'));
    const second = limit(work('second'), { signal: gone.signal });
    const third = limit(work('third'));
    gone.abort();
    await expect(second).rejects.toMatchObject({ code: 'unavailable' });
    const refused = expect(third).rejects.toMatchObject({ code: 'unavailable', retryAfterS: 1 });
    vi.advanceTimersByTime(999);
    const fourth = limit(work('fourth'));
    vi.advanceTimersByTime(1);
    await refused;
    finish('first');
    await settled();
    vi.advanceTimersByTime(5000);
    finish('fourth');
    expect(await Promise.all([first, fourth])).toEqual(['first', 'fourth']);
    await expect(limit(work('fifth'), { signal: gone.signal })).rejects.toMatchObject({ code: 'unavailable' });
    expect(begun).toEqual(['first', 'fourth']);
  } finally {
    vi.useRealTimers();
  }
});
