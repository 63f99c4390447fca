import { expect, test } from 'vitest';
import { createFailFast } from '../../../src/platform/db/health.ts';

/** Creates a health state that the test controls. */
function fakeHealth() {
  const listeners: (() => void)[] = [];
  let up = true;
  const failures: unknown[] = [];
  return {
    isUp: () => up,
    sawFailure: (err: unknown) => void failures.push(err),
    failures,
    onDown: (listener: () => void) => void listeners.push(listener),
    goDown: () => {
      up = false;
      for (const listener of listeners) listener();
    },
  };
}

const unavailable = { code: 'unavailable', status: 503 };

test('work does not start while the database is unavailable', async () => {
  const dbHealth = fakeHealth();
  const failFast = createFailFast(dbHealth);
  dbHealth.goDown();
  let begun = false;
  const work = failFast(async () => {
    begun = true;
  });
  await expect(work).rejects.toMatchObject(unavailable);
  expect(begun).toBe(false);
});

test('a running call is rejected when the database becomes unavailable', async () => {
  const dbHealth = fakeHealth();
  const hanging = createFailFast(dbHealth)(() => new Promise<never>(() => {}));
  dbHealth.goDown();
  await expect(hanging).rejects.toMatchObject(unavailable);
});

test('results and errors of the work are passed on, and database failures are reported', async () => {
  const dbHealth = fakeHealth();
  const failFast = createFailFast(dbHealth);
  await expect(failFast(async () => 7)).resolves.toBe(7);
  await expect(failFast(() => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
  expect(dbHealth.failures).toEqual([]);
  const full = Object.assign(new Error('no space left'), { code: '53100' });
  await expect(failFast(() => Promise.reject(full))).rejects.toBe(full);
  expect(dbHealth.failures).toEqual([full]);
});
