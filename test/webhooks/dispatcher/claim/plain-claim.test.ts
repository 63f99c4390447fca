import type pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Executor } from '../../../../src/platform/db/pool.ts';
import { type ClaimRequest, claim, claimPlainFirst } from '../../../../src/webhooks/dispatcher/claim/claim.ts';
import { createScheduler } from '../../../../src/webhooks/dispatcher/claim/scheduler.ts';
import { createWebhooksApp, type WebhooksApp } from '../../app.ts';
import { addEndpoint, enqueueDelivery, type TestEndpoint } from '../support.ts';

let t: WebhooksApp;
beforeAll(async () => {
  t = await createWebhooksApp();
});
afterEach(() => t.pool.query('delete from dispatcher_workers; delete from delivery_queue'));
afterAll(() => t.close());

const succeeded = 'last_success_at = now()';

/** Adds an endpoint with three waiting deliveries, and sets columns of the endpoint and its health by SQL. */
async function addWaiting(columns: string, health: string): Promise<TestEndpoint> {
  const endpoint = await addEndpoint(t, 'http://127.0.0.1:9/');
  for (let count = 0; count < 3; count += 1) await enqueueDelivery(t, endpoint);
  await t.pool.query(`update endpoint_health set ${health} where endpoint_id = ${endpoint.id}`);
  if (columns !== '') await t.pool.query(`update webhook_endpoints set ${columns} where id = ${endpoint.id}`);
  return endpoint;
}

const requestOf = (endpointIds: readonly number[], changes: Partial<ClaimRequest> = {}): ClaimRequest => ({
  workerId: 1,
  lane: 'live',
  endpointIds,
  takeOver: false,
  trusted: 100,
  untrusted: 100,
  tried: 100,
  perUnproven: 100,
  busyIds: [],
  busyCounts: [],
  slowIds: [],
  limitedIds: [],
  limitedCounts: [],
  ...changes,
});

/** Runs a claim, and takes it back. */
async function tried(run: (executor: Executor) => ReturnType<typeof claim>) {
  const client: pg.PoolClient = await t.pool.connect();
  try {
    await client.query('begin');
    const { claimed, candidates, hasPeers } = await run(client as unknown as Executor);
    const deliveries = claimed.map(({ lagMs: _, ...rest }) => rest);
    const byId = deliveries.sort((a, b) => (a.deliveryId < b.deliveryId ? -1 : 1));
    return { byId, candidates: candidates.sort((a, b) => a.endpointId - b.endpointId), hasPeers };
  } finally {
    await client.query('rollback');
    client.release();
  }
}

test('the short claim statement returns the same deliveries as the full one, for endpoints in any state', async () => {
  const states = [
    ['', succeeded],
    ['max_in_flight = 2', succeeded],
    ['signature_v1a = true, v1a_key_sealed = secret_sealed', succeeded],
    ['strict_order = true', succeeded],
    ['rate_limit_per_s = 1', succeeded],
    ['resume_rate_per_s = 1', succeeded],
    ['paused_at = now()', succeeded],
    ['enabled = false', succeeded],
    ['is_listener = true', succeeded],
    ['', 'last_success_at = null'],
    ['', 'last_success_at = null, last_failure_at = now()'],
    ['', 'last_success_at = now(), in_flight_limit = 1'],
    ['', "last_success_at = now(), breaker_state = 'open', open_until = now() + interval '1 hour'"],
    ['', "last_success_at = now(), breaker_state = 'open', open_until = now() - interval '1 hour'"],
  ] as const;
  const ids: number[] = [];
  for (const [columns, health] of states) ids.push((await addWaiting(columns, health)).id);
  const [plain = 0, limited = 0] = ids;
  const busy = { busyIds: [plain, limited], busyCounts: [2, 2] };
  for (const workers of [[1], [1, 2], [0, 1, 2, 3]]) {
    await t.pool.query('delete from dispatcher_workers');
    await t.pool.query('insert into dispatcher_workers (id) select unnest($1::int[])', [workers]);
    for (const changes of [{}, busy, { trusted: 2 }, { untrusted: 1, tried: 1 }]) {
      const request = requestOf(ids, changes);
      const full = await tried((executor) => claim(executor, request));
      expect(await tried((executor) => claimPlainFirst(executor, request, ids))).toEqual(full);
    }
  }
});

test('a delivery whose lease has expired is taken over after the next scan', async () => {
  const endpoint = await addWaiting('', succeeded);
  const scheduler = createScheduler(t.pool, 16, () => performance.now());
  scheduler.arrived([endpoint.id]);
  const claimAll = async (): Promise<number> => (await scheduler.claim(2, { takeOver: true })).claimed.length;
  await t.pool.query(
    `update delivery_queue
    set worker_id = 99, generation = 1, claimed_at = now(), lease_until = now() - interval '1 s'`,
  );
  expect(await claimAll()).toBe(0);
  await scheduler.scan();
  expect(await claimAll()).toBe(3);
  const { rows } = await t.pool.query('select generation, outcome from delivery_attempts');
  expect(rows).toEqual(Array.from({ length: 3 }, () => ({ generation: 1, outcome: null })));
});
