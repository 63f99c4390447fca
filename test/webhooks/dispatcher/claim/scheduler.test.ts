import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { scanQueue } from '../../../../src/webhooks/dispatcher/claim/scan.ts';
import { createScheduler } from '../../../../src/webhooks/dispatcher/claim/scheduler.ts';
import { createWebhooksApp, type WebhooksApp } from '../../app.ts';
import { addEndpoint, enqueueDelivery, type TestEndpoint } from '../support.ts';

let t: WebhooksApp;
beforeAll(async () => {
  t = await createWebhooksApp();
});
afterEach(() => t.pool.query('delete from dispatcher_workers; delete from delivery_queue'));
afterAll(() => t.close());

/** Adds a healthy endpoint with a rate limit and pending deliveries. */
async function addPaced(perS: number, maxInFlight: number, waiting: number): Promise<TestEndpoint> {
  const endpoint = await addEndpoint(t, 'http://127.0.0.1:9/', { rate_limit_per_s: perS, max_in_flight: maxInFlight });
  await t.pool.query('update endpoint_health set last_success_at = now() where endpoint_id = $1', [endpoint.id]);
  for (let count = 0; count < waiting; count += 1) await enqueueDelivery(t, endpoint);
  return endpoint;
}

test('an endpoint at its concurrency limit is skipped, even if its rate limit would allow more calls', async () => {
  let nowMs = 0;
  const scheduler = createScheduler(t.pool, 16, () => nowMs);
  const endpoint = await addPaced(1000, 2, 4);
  scheduler.arrived([endpoint.id]);

  /**
   * Claims until nothing is left to claim.
   * @returns number of claims and of claimed deliveries
   */
  async function untilDone(): Promise<{ candidates: number; claimed: number }> {
    for (let candidates = 0, claimed = 0; ; candidates += 1) {
      nowMs += 5;
      const round = await scheduler.claim(1, { takeOver: false });
      if (!round.more || candidates === 20) return { candidates, claimed };
      claimed += round.claimed.length;
      for (const delivery of round.claimed) claimedDeliveries.push(delivery);
    }
  }
  const claimedDeliveries: Awaited<ReturnType<typeof scheduler.claim>>['claimed'] = [];

  expect(await untilDone()).toEqual({ candidates: 2, claimed: 2 });
  for (const delivery of claimedDeliveries.splice(0)) scheduler.release(delivery);
  expect(await untilDone()).toEqual({ candidates: 1, claimed: 2 });
  for (const delivery of claimedDeliveries.splice(0)) scheduler.release(delivery);
});

test('a rate-limited endpoint is called again as soon as its rate allows', async () => {
  let nowMs = 0;
  const scheduler = createScheduler(t.pool, 16, () => nowMs);
  const endpoint = await addPaced(10, 8, 3);
  scheduler.arrived([endpoint.id]);
  const claimedAtMs: number[] = [];
  for (; nowMs <= 300; nowMs += 50) {
    for (;;) {
      const { claimed, more } = await scheduler.claim(1, { takeOver: false });
      claimedAtMs.push(...claimed.map(() => nowMs));
      if (!more) break;
    }
  }
  expect(claimedAtMs).toEqual([0, 100, 200]);
});

/**
 * Adds two workers.
 * @returns the worker that calls the endpoint when only one may do so, and the other worker
 */
async function addPeers({ id }: TestEndpoint): Promise<{ caller: number; other: number }> {
  await t.pool.query('insert into dispatcher_workers (id) values (1), (2)');
  const [caller = 0, other = 0] = id % 2 === 0 ? [1, 2] : [2, 1];
  return { caller, other };
}

test('the next call to an endpoint starts when the last one ends, even with two workers', async () => {
  const endpoint = await addPaced(1000, 1, 2);
  await t.pool.query('update webhook_endpoints set rate_limit_per_s = null');
  const { caller } = await addPeers(endpoint);
  const scheduler = createScheduler(t.pool, 16, () => 0);
  scheduler.arrived([endpoint.id]);
  const [first] = (await scheduler.claim(caller, { takeOver: false })).claimed;
  expect((await scheduler.claim(caller, { takeOver: false })).claimed).toEqual([]);
  scheduler.release(first as NonNullable<typeof first>);
  expect((await scheduler.claim(caller, { takeOver: false })).claimed).toHaveLength(1);
});

test('redeliveries of an endpoint are sent one at a time with any number of workers', async () => {
  const endpoint = await addPaced(1000, 4, 6);
  await t.pool.query("update delivery_queue set lane = 'redelivery' where endpoint_id = $1", [endpoint.id]);
  await t.pool.query('update webhook_endpoints set rate_limit_per_s = null');
  const { caller, other } = await addPeers(endpoint);
  const claimed: number[] = [];
  for (const workerId of [caller, other]) {
    const scheduler = createScheduler(t.pool, 16, () => 0);
    while (!(await scheduler.scan()));
    const round = await scheduler.claim(workerId, { takeOver: false });
    claimed.push(round.claimed.filter(({ endpointId }) => endpointId === endpoint.id).length);
  }
  expect(claimed).toEqual([1, 0]);
});

test('the calls of a stopping worker count towards the limit of their endpoint', async () => {
  const endpoint = await addPaced(1000, 2, 4);
  await t.pool.query('update webhook_endpoints set rate_limit_per_s = null');
  const { caller, other } = await addPeers(endpoint);
  const claimed: number[] = [];
  for (const workerId of [caller, other]) {
    const scheduler = createScheduler(t.pool, 16, () => 0);
    scheduler.arrived([endpoint.id]);
    claimed.push((await scheduler.claim(workerId, { takeOver: false })).claimed.length);
    await t.pool.query('update dispatcher_workers set stopping = true where id = $1', [workerId]);
  }
  expect(claimed).toEqual([1, 1]);
});

test('a scan returns each of a thousand endpoints once, in any physical row order', async () => {
  const copied =
    'url, method, secret_sealed, deadline_ms, max_in_flight, event, enabled, created_at, updated_at'.replaceAll(
      /\w+/g,
      'e.$&',
    );
  const endpoint = await addPaced(1, 1, 1);
  await t.pool.query(
    `insert into publishers (name, sdk_id)
    select 'One of many', substr(md5(n::text), 1, 16) from generate_series(1, 1000) as n`,
  );
  await t.pool.query(
    `insert into webhook_endpoints (${copied.replaceAll('e.', '')}, publisher_id)
    select ${copied}, p.id from webhook_endpoints e, publishers p where e.id = $1 and p.name = 'One of many'`,
    [endpoint.id],
  );
  await t.pool.query(
    'insert into endpoint_health (endpoint_id) select id from webhook_endpoints on conflict do nothing',
  );
  await t.pool.query(`insert into delivery_queue (delivery_id, day, endpoint_id, due_at)
    select gen_random_uuid(), current_date, e.id, now() from webhook_endpoints e
    join publishers p on p.id = e.publisher_id where p.name = 'One of many'`);
  await t.pool.query('update webhook_endpoints set url = url where id % 3 = 0');
  await t.pool.query('analyze');
  const { rows } = await t.pool.query<{ id: number }>(
    'select distinct endpoint_id as id from delivery_queue order by 1',
  );
  const endpointIds: number[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const page: Awaited<ReturnType<typeof scanQueue>> = await scanQueue(t.pool, 'live', after);
    expect(page.endpoints.length).toBeLessThanOrEqual(100);
    endpointIds.push(...page.endpoints.map(({ endpointId }) => endpointId));
    after = page.next;
  }
  expect(endpointIds).toEqual(rows.map(({ id }) => id));
});

test('a new delivery is sent immediately, even if its endpoint has a retry that is due later', async () => {
  const endpoint = await addPaced(1000, 4, 1);
  await t.pool.query("update delivery_queue set due_at = now() + interval '1 h'");
  const scheduler = createScheduler(t.pool, 16, () => 0);
  while (!(await scheduler.scan()));
  const id = await enqueueDelivery(t, endpoint);
  scheduler.arrived([endpoint.id]);
  expect((await scheduler.claim(1, { takeOver: false })).claimed.map(({ deliveryId }) => deliveryId)).toEqual([id]);
});

test('a worker claims 16 deliveries at a time, or up to 64 if PostgreSQL is slow', async () => {
  let nowMs = 0;
  let stepMs = 0;
  const scheduler = createScheduler(t.pool, 512, () => (nowMs += stepMs));
  const endpoints = await Promise.all(Array.from({ length: 50 }, () => addPaced(1000, 4, 2)));
  await t.pool.query('update webhook_endpoints set rate_limit_per_s = null');
  scheduler.arrived(endpoints.map(({ id }) => id));
  const sizes: number[] = [];
  for (;;) {
    const { claimed, more } = await scheduler.claim(1, { takeOver: false });
    sizes.push(claimed.length);
    if (!more) break;
    stepMs = sizes.length < 2 ? 0 : 100;
  }
  expect(sizes.slice(0, 3)).toEqual([16, 16, 16]);
  expect(Math.max(...sizes)).toBe(52);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(100);
});

test('a delivery created weeks ago gets its last attempt with its original bytes', async () => {
  await t.pool.query('select create_day_partitions(current_date - 20, current_date)');
  const endpoint = await addPaced(1000, 4, 1);
  await t.pool.query(
    `with moved as (delete from deliveries d using delivery_queue q where d.id = q.delivery_id returning d.*)
    insert into deliveries (day, id, publisher_id, endpoint_id, event, payload, status)
    select day - 20, id, publisher_id, endpoint_id, 'offer_saved', 'of old', status from moved`,
  );
  await t.pool.query('update delivery_queue set day = day - 20, attempts = 9');
  await t.pool.query('update webhook_endpoints set rate_limit_per_s = null');
  const recent = await enqueueDelivery(t, endpoint);
  const scheduler = createScheduler(t.pool, 16, () => 0);
  scheduler.arrived([endpoint.id]);
  const { claimed } = await scheduler.claim(1, { takeOver: false });
  expect(
    claimed.map(({ event, payload, attempts }) => [event, payload.toString().slice(0, 8), attempts]).sort(),
  ).toEqual([
    ['offer_saved', 'of old', 9],
    ['usp.selection', '{"body":', 0],
  ]);
  expect(claimed.map(({ deliveryId }) => deliveryId)).toContain(recent);
});
