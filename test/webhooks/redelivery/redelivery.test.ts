import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { findJob, runningJobs, runSlice } from '../../../src/webhooks/redelivery/jobs.ts';
import { startTestJobs } from '../../support/jobs.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import {
  attemptsOf,
  deliveryOf,
  type Hook,
  startHook,
  startTestDispatcher,
  until,
  untilAttempted,
} from '../dispatcher/support.ts';
import { addManager, type Manager } from '../endpoints/manager.ts';

let t: WebhooksApp;
let manager: Manager;
let foreign: Manager;
let hook: Hook;
let status = 200;

beforeAll(async () => {
  t = await createWebhooksApp();
});
afterAll(() => t.close());
beforeEach(async () => {
  status = 200;
  hook = await startHook((response) => {
    response.statusCode = status;
    response.end();
  });
  manager = await addManager(t);
  foreign = await addManager(t);
});
afterEach(() => hook.close());

/** Marks these deliveries as finished long ago. */
const end = (ids: readonly string[], status: string) =>
  t.pool.query(
    `with gone as (delete from delivery_queue where delivery_id = any($1))
    update deliveries set status = $2 where id = any($1)`,
    [ids, status],
  );

async function promiseMany(count: number, status: string, fields: object = {}): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++)
    ids.push(await manager.enqueueDelivery({ nowMs: Date.now() - 60_000 + index, ...fields }));
  await end(ids, status);
  return ids;
}

/** Makes an endpoint's deliveries wait as they would after hours of failures: for later attempts, and for a probe. */
async function wait(endpointId: number): Promise<void> {
  await t.pool.query("update delivery_queue set due_at = now() + interval '2 h' where endpoint_id = $1", [endpointId]);
  await t.pool.query(
    `update endpoint_health set breaker_state = 'open', times_opened = 5, open_until = now() + interval '15 min'
    where endpoint_id = $1`,
    [endpointId],
  );
}

async function failuresOf(endpointId: number): Promise<number> {
  const { rows } = await t.pool.query('select failures from endpoint_health where endpoint_id = $1', [endpointId]);
  return rows[0].failures;
}

const replay = (id: string, who = manager) => who.call('POST', `/deliveries/${id}/replay`);
const queued = async (): Promise<{ delivery_id: string; lane: string; generation: number }[]> =>
  (
    await t.pool.query(
      `select delivery_id, lane, generation from delivery_queue
      where endpoint_id in (select id from webhook_endpoints where publisher_id = $1)
      order by delivery_id`,
      [manager.id],
    )
  ).rows;

/** Checks that created = delivered + failed + held + pending, and that all pending deliveries are in the queue. */
async function expectBalance(total: number): Promise<void> {
  const { rows } = await t.pool.query(
    `select count(*)::int as created,
      count(*) filter (where status in ('delivered', 'failed', 'held', 'pending'))::int as known,
      count(*) filter (where (status = 'pending') <> (q.delivery_id is not null))::int as astray
    from deliveries d left join delivery_queue q on q.delivery_id = d.id where publisher_id = $1`,
    [manager.id],
  );
  expect(rows).toEqual([{ created: total, known: total, astray: 0 }]);
}

describe('POST /manage/v1/deliveries/{id}/replay', () => {
  test('sends the same ID and bytes with a new signature and all attempts, after live deliveries', async () => {
    const { secret } = (
      await manager.call('PUT', '/webhook-endpoints/usp.selection', {
        url: hook.url,
        method: 'POST',
        retry_steps_s: [0],
      })
    ).json().data;
    const payload = Buffer.from('{"body": {"a":  1}}');
    status = 500;
    const id = await manager.enqueueDelivery({ payload });
    const dispatcher = await startTestDispatcher(t);
    await until(async () => (await deliveryOf(t, id)).status, 'failed');
    await dispatcher.stop();
    status = 200;
    const answer = await replay(`msg_${id.replaceAll('-', '')}`);
    expect([answer.statusCode, answer.json().data]).toEqual([
      202,
      { id, webhook_id: `msg_${id.replaceAll('-', '')}`, status: 'pending' },
    ]);
    expect(await queued()).toEqual([{ delivery_id: id, lane: 'redelivery', generation: 2 }]);
    expect(await deliveryOf(t, id)).toMatchObject({ status: 'pending', attempts: 0, finished: false });
    await expectBalance(1);

    const again = await startTestDispatcher(t);
    await until(async () => (await deliveryOf(t, id)).status, 'delivered');
    await again.stop();
    const [first, second] = hook.requests as [Hook['requests'][number], Hook['requests'][number]];
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id']);
    expect(second.body).toEqual(payload);
    new Webhook(secret).verify(second.body, second.headers);
    expect((await attemptsOf(t, id)).map(({ generation, outcome }) => [generation, outcome])).toEqual([
      [1, 'failed'],
      [3, 'delivered'],
    ]);
    expect((await manager.call('GET', `/deliveries/${id}`)).json().data).toMatchObject({
      tries: 1,
      attempts: [{ number: 1 }, { number: 2 }],
      replayed_at: expect.any(String),
    });
  });

  test.each(['delivered', 'failed', 'held'])(
    'queues a %s delivery once, even for 64 concurrent calls',
    async (before) => {
      await manager.endpoint(hook.url);
      const [id = ''] = await promiseMany(1, before);
      const answers = await Promise.all(Array.from({ length: 64 }, () => replay(id)));
      expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([202]));
      expect(await queued()).toHaveLength(1);
      await expectBalance(1);
    },
  );

  test('makes the next attempt of a pending delivery now, even while the breaker is open', async () => {
    const endpointId = await manager.endpoint(hook.url);
    status = 503;
    const id = await manager.enqueueDelivery();
    const other = await manager.enqueueDelivery();
    const dispatcher = await startTestDispatcher(t);
    await untilAttempted(t, id, 1);
    await untilAttempted(t, other, 1);
    // The endpoint's failure count is written after the attempt. Wait for it, because otherwise it would open the
    // circuit breaker again later.
    await until(async () => await failuresOf(endpointId), 2);
    await wait(endpointId);
    status = 200;
    expect((await replay(id)).statusCode).toBe(202);
    await until(async () => (await deliveryOf(t, id)).status, 'delivered');
    await dispatcher.stop();
    expect((await attemptsOf(t, id)).map(({ outcome }) => outcome)).toEqual(['retry', 'delivered']);
    expect(await deliveryOf(t, other)).toMatchObject({ status: 'pending', attempts: 1 });
  });

  test('409: the delivery is erased, or its endpoint is disabled or removed', async () => {
    await manager.endpoint(hook.url);
    const refused = async (id: string) => {
      const answer = await replay(id);
      return [answer.statusCode, answer.json().error.code];
    };
    await manager.enqueueDelivery();
    const [erased = '', held = ''] = await promiseMany(2, 'held');
    await t.pool.query("update deliveries set erased_at = now(), payload = '' where id = $1", [erased]);
    expect(await refused(erased)).toEqual([409, 'delivery_erased']);
    await manager.call('POST', '/webhook-endpoints/usp.selection/disable');
    expect(await refused(held)).toEqual([409, 'endpoint_disabled']);
    await manager.call('DELETE', '/webhook-endpoints/usp.selection');
    expect(await refused(held)).toEqual([409, 'endpoint_disabled']);
    await manager.endpoint(hook.url);
    expect((await replay(held)).statusCode).toBe(202);
    await expectBalance(3);
  });

  test("404: the delivery is unknown, expired or another publisher's, or its ID is invalid", async () => {
    await manager.endpoint(hook.url);
    await foreign.endpoint(hook.url);
    const [id = ''] = await promiseMany(1, 'failed');
    const errors = [];
    for (const requestedId of [
      id,
      newUuid7(Date.now()),
      newUuid7(1_600_000_000_000),
      'x',
      'ffffffff-ffff-7fff-bfff-ffffffffffff',
    ]) {
      const answer = await replay(requestedId, foreign);
      expect(answer.statusCode).toBe(404);
      errors.push(JSON.stringify(answer.json().error));
    }
    expect(new Set(errors).size).toBe(1);
    expect(await queued()).toEqual([]);
  });
});

describe('POST /manage/v1/deliveries/replay', () => {
  const ask = (body: object, who = manager) => who.call('POST', '/deliveries/replay', body);

  test('counts the deliveries in a dry run without sending any', async () => {
    await manager.endpoint(hook.url);
    await manager.endpoint(hook.url, {}, 'conversion');
    await promiseMany(3, 'failed', { pubUserId: 'anna' });
    await promiseMany(2, 'held', { event: 'conversion' });
    const [erased] = await promiseMany(1, 'held');
    await t.pool.query('update deliveries set erased_at = now() where id = $1', [erased]);
    await promiseMany(4, 'delivered');
    await manager.enqueueDelivery();
    const count = async (filter: object, who = manager) => (await ask({ ...filter, dry_run: true }, who)).json().data;
    expect(await count({ status: ['failed'] })).toEqual({ dry_run: true, count: 3, capped: false });
    expect(await count({ status: ['failed', 'held'] })).toMatchObject({ count: 5 });
    expect(await count({ status: ['held'], event: 'conversion' })).toMatchObject({ count: 2 });
    expect(await count({ status: ['delivered', 'failed', 'held'] })).toMatchObject({ count: 9 });
    expect(await count({ status: ['failed'], pub_user_id: 'anna' })).toMatchObject({ count: 3 });
    expect(await count({ status: ['failed'], pub_user_id: 'bert' })).toMatchObject({ count: 0 });
    expect(await count({ status: ['failed'], to: '2020-01-01' })).toMatchObject({ count: 0 });
    expect(await count({ status: ['failed'] }, foreign)).toMatchObject({ count: 0 });
    await manager.call('POST', '/webhook-endpoints/conversion/disable');
    expect(await count({ status: ['held'] })).toMatchObject({ count: 0 });
    expect((await queued()).filter(({ lane }) => lane === 'redelivery')).toEqual([]);
  });

  test('attempts matching pending, failed and held deliveries now, and leaves others waiting', async () => {
    const endpointId = await manager.endpoint(hook.url);
    await manager.endpoint(hook.url, {}, 'conversion');
    const [failed = ''] = await promiseMany(1, 'failed');
    const pending = [await manager.enqueueDelivery(), await manager.enqueueDelivery()];
    const later = await manager.enqueueDelivery({ event: 'conversion' });
    await t.pool.query("update delivery_queue set due_at = now() + interval '2 h'");
    await wait(endpointId);
    const status = ['failed', 'held', 'pending'];
    expect((await ask({ status, dry_run: true })).json().data).toMatchObject({ count: 4 });
    expect((await ask({ status: ['pending'], endpoint: endpointId, dry_run: true })).json().data.count).toBe(2);
    const { id } = (await ask({ status, event: 'usp.selection' })).json().data;
    expect(await findJob(t.pool, manager.id, id)).toMatchObject({ total: 3 });
    await runSlice(t.pool, id, Date.now());
    expect(await findJob(t.pool, manager.id, id)).toMatchObject({ status: 'done', queued: 3 });
    const { rows } = await t.pool.query(
      `select delivery_id as id, lane from delivery_queue q join endpoint_health h using (endpoint_id)
      where due_at <= now() and (open_until is null or open_until <= now()) order by 1`,
    );
    expect(rows).toEqual(
      [{ id: failed, lane: 'redelivery' }, ...pending.map((deliveryId) => ({ id: deliveryId, lane: 'live' }))].sort(
        (a, b) => (a.id < b.id ? -1 : 1),
      ),
    );
    expect((await queued()).map(({ delivery_id }) => delivery_id)).toContain(later);
    await expectBalance(4);
  });

  test('sends deliveries that are held for a disabled endpoint once it is enabled again', async () => {
    await manager.endpoint(hook.url);
    await manager.call('POST', '/webhook-endpoints/usp.selection/disable');
    const ids = [await manager.enqueueDelivery(), await manager.enqueueDelivery(), await manager.enqueueDelivery()];
    await manager.call('POST', '/webhook-endpoints/usp.selection/enable');
    const answer = await ask({ status: ['held'] });
    expect(answer.statusCode, answer.body).toBe(202);
    const job = answer.json().data;
    expect(job).toMatchObject({ status: 'running', total: 3, queued: 0, finished_at: null });
    const [dispatcher, redeliveries] = [await startTestDispatcher(t), await startTestJobs(t, 'redelivery')];
    const loadJob = async () => (await manager.call('GET', `/replays/${job.id}`)).json().data;
    await until(async () => (await loadJob()).status, 'done');
    expect(await loadJob()).toMatchObject({ total: 3, queued: 3, finished_at: expect.any(String) });
    await until(() => hook.requests.length, 3);
    expect(new Set(hook.requests.map(({ headers }) => headers['webhook-id']))).toEqual(
      new Set(ids.map((id) => `msg_${id.replaceAll('-', '')}`)),
    );
    await redeliveries.stop();
    await dispatcher.stop();
    expect((await manager.call('GET', '/replays')).json().data).toMatchObject([{ id: job.id }]);
    await expectBalance(3);
  });

  test('continues in slices with any number of workers, and queues each delivery once', async () => {
    const endpointId = await manager.endpoint(hook.url);
    await t.pool.query(
      `insert into deliveries (day, id, publisher_id, endpoint_id, event, payload, status)
      select (now() - interval '1 hour')::date,
        (substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
        $1, $2, 'usp.selection', '{}', case when n % 2 = 0 then 'failed' else 'delivered' end
      from generate_series(1, 3200) n
      cross join lateral (
        select lpad(to_hex((extract(epoch from now() - interval '1 hour') * 1000)::bigint), 12, '0') as h
      ) x`,
      [manager.id, endpointId],
    );
    const { id } = (await ask({ status: ['failed'] })).json().data;
    const job = async () => await findJob(t.pool, manager.id, id);
    // A slice that could not be committed leaves nothing behind.
    await t.pool.query('alter table redelivery_jobs add constraint broken check (queued = 0) not valid');
    await expect(runSlice(t.pool, id, Date.now())).rejects.toThrow();
    expect([await job(), await queued()]).toMatchObject([{ queued: 0 }, []]);
    await t.pool.query('alter table redelivery_jobs drop constraint broken');
    // Start six slices concurrently, although only one may run at a time.
    while ((await runningJobs(t.pool)).includes(id))
      await Promise.all(Array.from({ length: 6 }, () => runSlice(t.pool, id, Date.now())));
    expect(await job()).toMatchObject({ status: 'done', total: 1600, queued: 1600 });
    expect(await queued()).toHaveLength(1600);
    await expectBalance(3200);
    expect(await runSlice(t.pool, id, Date.now())).toBe(false);
  });

  test('waits while many redeliveries are due, so that the queue stays small', async () => {
    const endpointId = await manager.endpoint(hook.url);
    await t.pool.query(
      `insert into delivery_queue (delivery_id, day, endpoint_id, due_at, lane)
      select gen_random_uuid(), now()::date, $1, now(), 'redelivery' from generate_series(1, 2000)`,
      [endpointId],
    );
    await promiseMany(1, 'failed');
    const { id } = (await ask({ status: ['failed'] })).json().data;
    expect(await runSlice(t.pool, id, Date.now())).toBe(false);
    expect(await findJob(t.pool, manager.id, id)).toMatchObject({ status: 'running', queued: 0 });
    // Failed deliveries of other endpoints are not affected.
    const otherId = await manager.endpoint(hook.url, {}, 'offer_saved');
    const elsewhere = (await ask({ status: ['failed'], endpoint: otherId })).json().data;
    await runSlice(t.pool, elsewhere.id, Date.now());
    expect(await findJob(t.pool, manager.id, elsewhere.id)).toMatchObject({ status: 'done' });
    await t.pool.query('delete from delivery_queue where endpoint_id = $1', [endpointId]);
    await runSlice(t.pool, id, Date.now());
    expect(await findJob(t.pool, manager.id, id)).toMatchObject({ status: 'done', queued: 1 });
  });

  test('leaves out later deliveries and those sent in the meantime', async () => {
    await manager.endpoint(hook.url);
    const [first = '', second = ''] = await promiseMany(2, 'failed');
    const { id } = (await ask({ status: ['failed'] })).json().data;
    await end([await manager.enqueueDelivery({ nowMs: Date.now() + 5000 })], 'failed');
    await replay(first);
    await runSlice(t.pool, id, Date.now());
    expect(await findJob(t.pool, manager.id, id)).toMatchObject({ status: 'done', total: 2, queued: 1 });
    expect((await queued()).map(({ delivery_id }) => delivery_id).sort()).toEqual([first, second].sort());
  });

  test('can be cancelled, and its user ID is erased when it ends', async () => {
    await manager.endpoint(hook.url);
    await promiseMany(2, 'failed', { pubUserId: 'anna' });
    const { id } = (await ask({ status: ['failed'], pub_user_id: 'anna' })).json().data;
    const cancelled = await manager.call('POST', `/replays/${id}/cancel`);
    expect([cancelled.statusCode, cancelled.json().data.status]).toEqual([200, 'cancelled']);
    expect(await runSlice(t.pool, id, Date.now())).toBe(false);
    expect(await queued()).toEqual([]);
    const again = await manager.call('POST', `/replays/${id}/cancel`);
    expect([again.statusCode, again.json().error.code]).toEqual([409, 'replay_finished']);
    const { rows } = await t.pool.query('select filter::text as filter from redelivery_jobs where id = $1', [id]);
    expect(rows[0].filter).not.toContain('anna');
  });

  test('409: six redeliveries at the same time', async () => {
    await manager.endpoint(hook.url);
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask({ status: ['failed'] })));
    expect(answers.filter(({ statusCode }) => statusCode === 202)).toHaveLength(5);
    expect(
      new Set(answers.filter(({ statusCode }) => statusCode !== 202).map((answer) => answer.json().error.code)),
    ).toEqual(new Set(['too_many_replays']));
  });

  test.each([
    ['no status', {}],
    ['an empty status list', { status: [] }],
    ['an unknown status', { status: ['sent'] }],
    ['a status that is not a list', { status: 'failed' }],
    ['a duplicate status', { status: ['failed', 'failed'] }],
    ['an unknown event', { status: ['failed'], event: 'x' }],
    ['an endpoint id above the integer range', { status: ['failed'], endpoint: 2 ** 31 }],
    ['a user id with a NUL character', { status: ['failed'], pub_user_id: 'a\0' }],
    ['an invalid session ID', { status: ['failed'], session_id: 'x' }],
    ['an invalid time', { status: ['failed'], from: 'now' }],
    ['a dry run flag that is not a boolean', { status: ['failed'], dry_run: 'true' }],
  ])('400: %s', async (_name, body) => {
    expect((await ask(body)).statusCode).toBe(400);
  });

  test("404: another publisher's redelivery cannot be seen or cancelled", async () => {
    const { id } = (await ask({ status: ['failed'] })).json().data;
    for (const requestedId of [id, newUuid7(Date.now()), 'x', '%00']) {
      const answers = [
        await foreign.call('GET', `/replays/${requestedId}`),
        await foreign.call('POST', `/replays/${requestedId}/cancel`),
      ];
      expect(answers.map((answer) => [answer.statusCode, answer.json().error.code])).toEqual(
        Array(2).fill([404, 'replay_not_found']),
      );
    }
    expect((await foreign.call('GET', '/replays')).json().data).toEqual([]);
  });
});
