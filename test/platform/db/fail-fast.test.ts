import { expect, test } from 'vitest';
import { createStoreGuard } from '../../../src/platform/db/fail-fast.ts';

/** A pulse that is moved by hand. */
function handPulse() {
  const listeners: (() => void)[] = [];
  let up = true;
  let lives = 0;
  return {
    isUp: () => up,
    sawLife: () => {
      lives += 1;
    },
    lives: () => lives,
    onAway: (listener: () => void) => void listeners.push(listener),
    stop: async () => {},
    goAway: () => {
      up = false;
      for (const listener of listeners) listener();
    },
  };
}

const unavailable = { code: 'unavailable', status: 503 };

test('work is not begun while the store is away', async () => {
  const pulse = handPulse();
  const guarded = createStoreGuard(pulse);
  pulse.goAway();
  let begun = false;
  const work = guarded(async () => {
    begun = true;
  });
  await expect(work).rejects.toMatchObject(unavailable);
  expect(begun).toBe(false);
});

test('a call does not hang when the store goes away under it', async () => {
  const pulse = handPulse();
  const hanging = createStoreGuard(pulse)(() => new Promise<never>(() => {}));
  pulse.goAway();
  await expect(hanging).rejects.toMatchObject(unavailable);
});

test('what the work answers or throws is passed on, and an answer counts as a sign of life', async () => {
  const pulse = handPulse();
  const guarded = createStoreGuard(pulse);
  await expect(guarded(async () => 7)).resolves.toBe(7);
  await expect(guarded(() => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
  expect(pulse.lives()).toBe(1);
});
