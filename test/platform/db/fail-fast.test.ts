import { expect, test } from 'vitest';
import { createFailFast } from '../../../src/platform/db/fail-fast.ts';

/** A health probe that is moved by hand. */
function handPulse() {
  const listeners: (() => void)[] = [];
  let up = true;
  let lives = 0;
  return {
    isUp: () => up,
    sawAnswer: () => {
      lives += 1;
    },
    lives: () => lives,
    onDown: (listener: () => void) => void listeners.push(listener),
    stop: async () => {},
    goAway: () => {
      up = false;
      for (const listener of listeners) listener();
    },
  };
}

const unavailable = { code: 'unavailable', status: 503 };

test('work is not begun while the store is away', async () => {
  const dbHealth = handPulse();
  const guarded = createFailFast(dbHealth);
  dbHealth.goAway();
  let begun = false;
  const work = guarded(async () => {
    begun = true;
  });
  await expect(work).rejects.toMatchObject(unavailable);
  expect(begun).toBe(false);
});

test('a call does not hang when the store goes away under it', async () => {
  const dbHealth = handPulse();
  const hanging = createFailFast(dbHealth)(() => new Promise<never>(() => {}));
  dbHealth.goAway();
  await expect(hanging).rejects.toMatchObject(unavailable);
});

test('what the work answers or throws is passed on, and an answer counts as a sign of life', async () => {
  const dbHealth = handPulse();
  const guarded = createFailFast(dbHealth);
  await expect(guarded(async () => 7)).resolves.toBe(7);
  await expect(guarded(() => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
  expect(dbHealth.lives()).toBe(1);
});
