import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { transaction } from '../../../../src/platform/db/pool.ts';
import { findAttempts } from '../../../../src/webhooks/delivery-store.ts';
import { claim } from '../../../../src/webhooks/dispatcher/claim/claim.ts';
import { workerLockClass } from '../../../../src/webhooks/dispatcher/leases.ts';
import { type Settlement, settle } from '../../../../src/webhooks/dispatcher/settle/settle.ts';
import { redeliverOne } from '../../../../src/webhooks/redelivery/requeue.ts';
import { timeLimit } from '../../../support/time-limit.ts';
import { createWebhooksApp, type WebhooksApp } from '../../app.ts';
import { addEndpoint, attemptsOf, createParts, deliveryOf, enqueueDelivery, until, untilSwept } from '../support.ts';

const claimAll = async (workerId: number) => {
  const endpoints = await t.pool.query<{ id: number }>('select id from webhook_endpoints');
  const { claimed } = await claim(t.pool, {
    workerId,
    lane: 'live',
    endpointIds: endpoints.rows.map(({ id }) => id),
    takeOver: true,
    trusted: 100,
    untrusted: 100,
    tried: 100,
    perUnproven: 100,
    busyIds: [],
    busyCounts: [],
    slowIds: [],
    limitedIds: [],
    limitedCounts: [],
  });
  return claimed;
};
const delivered = {
  outcome: 'delivered',
  attempts: 1,
  disables: null,
  status: 200,
  errorClass: null,
  errorMessage: null,
  timing: null,
  remoteAddress: null,
  responseHeaders: null,
  responseBody: null,
  responseTruncated: null,
  request: null,
} as const;

let t: WebhooksApp;
const { hook, dispatcher, end } = createParts(() => t);

beforeAll(async () => {
  t = await createWebhooksApp();
});
afterEach(end);
afterAll(() => t.close());

/** Adds a worker that registered itself and then died without notice. */
async function deadWorker(): Promise<number> {
  await t.pool.query('insert into dispatcher_workers (id) values (4711) on conflict do nothing');
  return 4711;
}

/** Adds a worker that registered itself and is still connected. */
async function connectedWorker(): Promise<pg.Client> {
  const worker = new pg.Client({ connectionString: t.databaseUrl });
  await worker.connect();
  await worker.query('select pg_advisory_lock($1, $2)', [workerLockClass, await deadWorker()]);
  return worker;
}

describe('leases', () => {
  test('do not allow a claimed delivery to be claimed again until they expire', async () => {
    const id = await enqueueDelivery(t, await addEndpoint(t, (await hook()).url));
    expect((await claimAll(1)).map(({ deliveryId, generation }) => [deliveryId, generation])).toEqual([[id, 1]]);
    expect(await claimAll(2)).toEqual([]);
    await t.pool.query("update delivery_queue set lease_until = now() - interval '1 ms'");
    expect((await claimAll(2)).map(({ deliveryId, generation }) => [deliveryId, generation])).toEqual([[id, 2]]);
  });

  test('outlast the deadline of their call', async () => {
    await enqueueDelivery(t, await addEndpoint(t, (await hook()).url, { deadline_ms: 7000 }));
    await claimAll(1);
    const { rows } = await t.pool.query(
      'select extract(epoch from lease_until - claimed_at)::float as s from delivery_queue',
    );
    expect(rows).toEqual([{ s: 17 }]);
  });

  test('appear in the delivery log as an attempt without an outcome, until it is stored', async () => {
    const id = await enqueueDelivery(t, await addEndpoint(t, (await hook()).url));
    expect(await findAttempts(t.pool, id)).toEqual([]);
    const [claimed] = await claimAll(1);
    if (claimed === undefined) throw new Error('nothing was claimed');
    const [inFlight, ...others] = await findAttempts(t.pool, id);
    expect(others).toEqual([]);
    expect(inFlight).toMatchObject({ number: 1, started_at: expect.any(Date), finished_at: null, outcome: null });
    await settle(t.pool, [{ ...delivered, claimed }]);
    expect(await findAttempts(t.pool, id)).toMatchObject([
      { number: 1, started_at: inFlight?.started_at, finished_at: expect.any(Date), outcome: 'delivered' },
    ]);
  });

  test('prevent their former worker from changing any row after they were taken over', async () => {
    const id = await enqueueDelivery(t, await addEndpoint(t, (await hook()).url));
    const [stale] = await claimAll(1);
    await t.pool.query("update delivery_queue set lease_until = now() - interval '1 ms'");
    await claimAll(2);
    const snapshot = async () => [
      await deliveryOf(t, id),
      await attemptsOf(t, id),
      (await t.pool.query('select * from delivery_queue')).rows,
    ];
    const before = await snapshot();
    if (stale === undefined) throw new Error('nothing was claimed');
    for (const outcome of ['delivered', 'failed', 'endpoint_disabled'] as const) {
      expect(await settle(t.pool, [{ ...delivered, outcome, claimed: stale }])).toEqual([]);
    }
    expect(await settle(t.pool, [{ ...delivered, outcome: 'retry', delayMs: 0, claimed: stale }])).toEqual([]);
    expect(await snapshot()).toEqual(before);
    expect((await t.pool.query('select 1 from webhook_endpoints where not enabled')).rows).toEqual([]);
  });

  test('cannot settle a redelivery that was requested after they were granted', async () => {
    const endpoint = await addEndpoint(t, (await hook()).url);
    const id = await enqueueDelivery(t, endpoint);
    const [stale] = await claimAll(1);
    const settlement = { ...delivered, outcome: 'failed', claimed: stale as NonNullable<typeof stale> } as const;
    await settle(t.pool, [settlement]);
    await transaction(t.pool, (executor) => redeliverOne(executor, endpoint.publisherId, id, Date.now()));
    expect(await settle(t.pool, [settlement])).toEqual([]);
    expect(await deliveryOf(t, id)).toMatchObject({ status: 'pending', queued: true });
  });

  test('exclude only their own settlements from a batch when they have expired', async () => {
    const endpoint = await addEndpoint(t, (await hook()).url);
    const ids = [await enqueueDelivery(t, endpoint), await enqueueDelivery(t, endpoint)];
    const claimed = await claimAll(1);
    await t.pool.query('update delivery_queue set generation = 9 where delivery_id = $1', [ids[0]]);
    const settlements: Settlement[] = claimed.map((delivery) => ({ ...delivered, claimed: delivery }));
    expect((await settle(t.pool, settlements)).map((settlement) => settlement.claimed.deliveryId)).toEqual([ids[1]]);
    expect(await Promise.all(ids.map(async (id) => (await deliveryOf(t, id)).status))).toEqual([
      'pending',
      'delivered',
    ]);
  });

  test('are not granted for a disabled endpoint', async () => {
    const endpoint = await addEndpoint(t, (await hook()).url);
    await enqueueDelivery(t, endpoint);
    await t.pool.query('update webhook_endpoints set enabled = false where id = $1', [endpoint.id]);
    expect(await claimAll(1)).toEqual([]);
    await t.pool.query('delete from webhook_endpoints where id = $1', [endpoint.id]);
  });
});

describe('a worker that no longer responds', () => {
  test('loses its deliveries long before its leases end, but only after time to reconnect', async () => {
    const receiver = await hook();
    const id = await enqueueDelivery(t, await addEndpoint(t, receiver.url));
    await claimAll(await deadWorker());
    await t.pool.query("update delivery_queue set lease_until = now() + interval '1 hour'");
    const startMs = performance.now();
    await dispatcher();
    await until(() => receiver.requests.length, 1);
    expect((receiver.requests[0]?.atMs ?? 0) - startMs).toBeGreaterThan(900);
    await until(async () => (await deliveryOf(t, id)).status, 'delivered');
    expect((await attemptsOf(t, id)).map(({ generation, outcome }) => [generation, outcome])).toEqual([
      [1, null],
      [2, 'delivered'],
    ]);
    expect((await t.pool.query('select 1 from dispatcher_workers where id = 4711')).rows).toEqual([]);
  });

  test('keeps its deliveries while it still holds its lock', async () => {
    const receiver = await hook();
    const id = await enqueueDelivery(t, await addEndpoint(t, receiver.url));
    const worker = await connectedWorker();
    await claimAll(4711);
    await dispatcher();
    await dispatcher();
    await untilSwept(t, 3);
    expect(receiver.requests).toEqual([]);
    await worker.end();
    await until(async () => (await deliveryOf(t, id)).status, 'delivered');
  });

  test('has time to reconnect if the others have just lost their connections too', async () => {
    const receiver = await hook();
    const id = await enqueueDelivery(t, await addEndpoint(t, receiver.url));
    const worker = await connectedWorker();
    await claimAll(4711);
    await t.pool.query("update delivery_queue set lease_until = now() + interval '1 hour'");
    await dispatcher();
    await untilSwept(t, 1);
    await t.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'perkwire-worker' and datname = $1`,
      [new URL(t.databaseUrl).pathname.slice(1)],
    );
    const startMs = performance.now();
    await worker.end();
    await expect.poll(async () => (await deliveryOf(t, id)).status, { timeout: timeLimit(15_000) }).toBe('delivered');
    expect((receiver.requests[0]?.atMs ?? 0) - startMs).toBeGreaterThan(5000);
  });

  test('loses its deliveries when their leases expire if nothing else is known about it', async () => {
    const receiver = await hook();
    const id = await enqueueDelivery(t, await addEndpoint(t, receiver.url));
    await claimAll(99);
    await t.pool.query("update delivery_queue set lease_until = now() + interval '300 ms'");
    await dispatcher();
    await until(async () => (await deliveryOf(t, id)).status, 'delivered');
  });
});

describe('a worker that has lost its lock', () => {
  test('reconnects under a new ID and keeps its calls in flight', async () => {
    let release: () => void = () => {};
    const receiver = await hook((response) => {
      release = () => void response.end();
    });
    const id = await enqueueDelivery(t, await addEndpoint(t, receiver.url));
    await dispatcher();
    await dispatcher();
    await until(() => receiver.requests.length, 1);
    const holder = async () =>
      (await t.pool.query<{ worker_id: number }>('select worker_id from delivery_queue')).rows[0]?.worker_id;
    const before = await holder();
    await t.pool.query(
      `select pg_terminate_backend(pid) from pg_locks
      where database = (select oid from pg_database where datname = current_database())
        and locktype = 'advisory' and classid = $1::int::oid and objid = $2::int::oid`,
      [workerLockClass, before],
    );
    await until(async () => (await holder()) !== before, true);
    expect(await holder()).toBeGreaterThan(0);
    release();
    await until(async () => (await deliveryOf(t, id)).status, 'delivered');
    expect(receiver.requests).toHaveLength(1);
    expect(await attemptsOf(t, id)).toHaveLength(1);
  });

  test('makes deliveries due again immediately if the result of their claim was lost', async () => {
    const receiver = await hook();
    const worker = await dispatcher();
    await worker.stop();
    // Pool whose first claim is committed but then fails, as when the connection breaks in between.
    let broken = false;
    const pool = Object.create(t.pool) as pg.Pool;
    pool.query = (async (...parameters: [pg.QueryConfig]) => {
      const result = await t.pool.query(...parameters);
      if (broken || !parameters[0].name?.startsWith('claim') || result.rows.length === 0) return result;
      broken = true;
      throw new Error('Connection terminated unexpectedly');
    }) as never;
    const id = await enqueueDelivery(t, await addEndpoint(t, receiver.url));
    await dispatcher({ pool });
    await until(async () => (await deliveryOf(t, id)).status, 'delivered');
    expect((await attemptsOf(t, id)).map(({ outcome }) => outcome)).toEqual([null, 'delivered']);
  });
});

describe('a worker that stops', () => {
  test('finishes its calls in flight and claims nothing more', async () => {
    let release: () => void = () => {};
    const receiver = await hook((response) => {
      release = () => void response.end();
    });
    const endpoint = await addEndpoint(t, receiver.url);
    const id = await enqueueDelivery(t, endpoint);
    const worker = await dispatcher();
    await until(() => receiver.requests.length, 1);
    const stopped = worker.stop();
    const late = await enqueueDelivery(t, endpoint);
    release();
    await stopped;
    expect(await deliveryOf(t, id)).toMatchObject({ status: 'delivered' });
    expect(await deliveryOf(t, late)).toEqual({
      status: 'pending',
      attempts: 0,
      queued: true,
      leased: false,
      finished: false,
    });
    expect(receiver.requests).toHaveLength(1);
    expect((await t.pool.query('select 1 from dispatcher_workers')).rows).toEqual([]);
  });

  test('releases the deliveries of calls that do not end in time, without using up an attempt', async () => {
    const receiver = await hook((response, _taken, count) => {
      if (count > 1) response.end();
    });
    const id = await enqueueDelivery(t, await addEndpoint(t, receiver.url));
    const worker = await dispatcher({ drainLimitMs: 100 });
    await until(() => receiver.requests.length, 1);
    await worker.stop();
    expect(await deliveryOf(t, id)).toEqual({
      status: 'pending',
      attempts: 0,
      queued: true,
      leased: false,
      finished: false,
    });
    expect((await attemptsOf(t, id))[0]).toMatchObject({ outcome: 'retry', error_class: 'local', wait_s: 0 });
    await dispatcher();
    await until(async () => (await deliveryOf(t, id)).status, 'delivered');
    expect(await deliveryOf(t, id)).toMatchObject({ attempts: 1 });
  });
});
