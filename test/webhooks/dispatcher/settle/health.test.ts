import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHealthWatch, recordHealth } from '../../../../src/webhooks/dispatcher/settle/health.ts';
import type { Settlement } from '../../../../src/webhooks/dispatcher/settle/settle.ts';
import { createWebhooksApp, type WebhooksApp } from '../../app.ts';
import { addEndpoint } from '../support.ts';

let t: WebhooksApp;
beforeAll(async () => {
  t = await createWebhooksApp();
});
afterAll(() => t.close());

const url = 'http://127.0.0.1:9/';

/** Creates an endpoint that is called by workers that don't know of each other. */
async function setUp(workers: number) {
  const { id: endpointId } = await addEndpoint(t, url);
  let nowMs = 0;
  const watches = Array.from({ length: workers }, () => createHealthWatch(() => nowMs));
  let calls = 0;
  return {
    /**
     * Ends the next worker's call.
     * @returns whether that opens the circuit breaker
     */
    end: async (succeeds: boolean): Promise<boolean> => {
      const watch = watches[calls++ % workers];
      const claimed = { endpointId, url, maxInFlight: 4, healthy: true };
      const result = succeeds ? { outcome: 'delivered' } : { outcome: 'retry', errorClass: 'status', status: 500 };
      const observed = watch?.observe([{ ...result, timing: null, claimed } as Settlement]) ?? [];
      return (await recordHealth(t.pool, observed)).length > 0;
    },
    /** Advances the time of the workers and of the rows they wrote. */
    wait: async (ms: number): Promise<void> => {
      nowMs += ms;
      await t.pool.query(
        `update endpoint_health set recent_calls_at =
          array(select at - $2 * interval '1 ms' from unnest(recent_calls_at) as at) where endpoint_id = $1`,
        [endpointId, ms],
      );
    },
  };
}

test.each([1, 2, 3])(
  'the tenth failure within a minute opens the breaker, even if %i workers made the calls',
  async (workers) => {
    const { end } = await setUp(workers);
    for (let count = 1; count < 10; count += 1) expect(await end(false)).toBe(false);
    expect(await end(false)).toBe(true);
    for (let count = 1; count < 10; count += 1) expect(await end(false)).toBe(false);
  },
);

test.each([1, 2])('successes that %i workers have not yet written count towards the failure rate', async (workers) => {
  const { end } = await setUp(workers);
  for (let count = 0; count < 12; count += 1) expect(await end(true)).toBe(false);
  for (let count = 1; count < 12; count += 1) expect(await end(false)).toBe(false);
  expect(await end(false)).toBe(true);
});

test('calls more than a minute ago do not count', async () => {
  const { end, wait } = await setUp(2);
  for (let count = 1; count < 10; count += 1) expect(await end(false)).toBe(false);
  await wait(61_000);
  for (let count = 1; count < 10; count += 1) expect(await end(false)).toBe(false);
  expect(await end(false)).toBe(true);
});
