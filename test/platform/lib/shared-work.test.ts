import { expect, test } from 'vitest';
import { createSharedWork } from '../../../src/platform/lib/shared-work.ts';

/** Creates work that ends when the test ends it. */
function createWork() {
  let [resolve, reject] = [(_result: string): void => {}, (_err: Error): void => {}];
  const result = new Promise<string>((...settle) => {
    [resolve, reject] = settle;
  });
  return { run: () => result, resolve, reject };
}

test('a caller that joins abandoned work gets its result or starts new work', async () => {
  const shared = createSharedWork<string>();
  for (const endsWell of [true, false]) {
    const [first, second] = [createWork(), createWork()];
    const gone = new AbortController();
    const abandoned = shared.join('image', gone.signal, first.run).catch(() => 'left');
    gone.abort();
    const joined = shared.join('image', undefined, second.run);
    if (endsWell) first.resolve('first');
    else first.reject(new Error('nobody waits any more'));
    second.resolve('second');
    expect(await joined).toBe(endsWell ? 'first' : 'second');
    await abandoned;
    expect(shared.count()).toBe(0);
  }
});
