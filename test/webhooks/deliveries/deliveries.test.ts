import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { dayMs } from '../../../src/platform/lib/time.ts';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { findPage } from '../../../src/webhooks/deliveries/walk.ts';
import { readFilter } from '../../../src/webhooks/delivery-filter.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import { type Hook, startHook, startTestDispatcher, until } from '../dispatcher/support.ts';
import { addManager, type Manager } from '../endpoints/manager.ts';

let t: WebhooksApp;
let manager: Manager;
let foreign: Manager;
let hook: Hook;

beforeAll(async () => {
  t = await createWebhooksApp();
  await t.pool.query("select create_day_partitions((now() - interval '5 days')::date, now()::date)");
});
afterAll(() => t.close());
beforeEach(async () => {
  hook = await startHook();
  manager = await addManager(t);
  foreign = await addManager(t);
});
afterEach(() => hook.close());

type Listed = { id: string; status: string; created_at: string };
const list = async (query: Record<string, string> = {}, who = manager) => {
  const answer = await who.call('GET', `/deliveries?${new URLSearchParams(query)}`);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json().data as { deliveries: Listed[]; next_cursor: string | null };
};
const idsOf = async (query: Record<string, string> = {}, who = manager) =>
  (await list(query, who)).deliveries.map(({ id }) => id);
const setStatus = (id: string, status: string) =>
  t.pool.query(
    'with gone as (delete from delivery_queue where delivery_id = $1) update deliveries set status = $2 where id = $1',
    [id, status],
  );

describe('GET /manage/v1/deliveries', () => {
  test('lists deliveries newest first in pages, each once', async () => {
    await manager.endpoint(hook.url);
    await manager.endpoint(hook.url, {}, 'conversion');
    const startMs = Date.now() - 3 * dayMs;
    const ids: string[] = [];
    for (let index = 0; index < 23; index++) {
      const event = index % 3 === 0 ? 'conversion' : 'usp.selection';
      ids.push(await manager.enqueueDelivery({ nowMs: startMs + index * 3 * 3_600_000, event }));
    }
    ids.reverse();
    const listedIds: string[] = [];
    let cursor: string | null = '';
    for (let page = 0; cursor !== null && page < 10; page++) {
      const result = await list({ limit: '5', ...(cursor === '' ? {} : { cursor }) });
      listedIds.push(...result.deliveries.map(({ id }) => id));
      cursor = result.next_cursor;
    }
    expect(cursor).toBeNull();
    expect(listedIds).toEqual(ids);
  });

  test('filters by event, endpoint, status, time, session and user, separately and together', async () => {
    const selection = await manager.endpoint(hook.url);
    const conversion = await manager.endpoint(hook.url, {}, 'conversion');
    const session = newUuid7(Date.now());
    const old = await manager.enqueueDelivery({ nowMs: Date.now() - 2 * dayMs, pubUserId: 'anna' });
    const a = await manager.enqueueDelivery({ nowMs: Date.now() - 5000, sessionId: session, pubUserId: 'anna' });
    const b = await manager.enqueueDelivery({
      nowMs: Date.now() - 4000,
      event: 'conversion',
      sessionId: session,
      pubUserId: 'bert',
    });
    const c = await manager.enqueueDelivery({ nowMs: Date.now() - 3000, event: 'conversion', pubUserId: 'anna' });
    await setStatus(old, 'delivered');
    await setStatus(a, 'failed');
    await setStatus(b, 'held');
    const today = new Date(Date.now() - 60_000).toISOString();
    const cases: [Record<string, string>, string[]][] = [
      [{}, [c, b, a, old]],
      [{ event: 'conversion' }, [c, b]],
      [{ endpoint: String(selection) }, [a, old]],
      [{ endpoint: String(conversion), event: 'usp.selection' }, []],
      [{ status: 'pending' }, [c]],
      [{ status: 'delivered' }, [old]],
      [{ status: 'failed' }, [a]],
      [{ status: 'held' }, [b]],
      [{ status: 'held', event: 'usp.selection' }, []],
      [{ from: today }, [c, b, a]],
      [{ to: today }, [old]],
      [{ from: today, to: today }, []],
      [{ session_id: session }, [b, a]],
      [{ session_id: session.toUpperCase(), event: 'conversion' }, [b]],
      [{ pub_user_id: 'anna' }, [c, a, old]],
      [{ pub_user_id: ' anna ', status: 'delivered' }, [old]],
      [{ pub_user_id: 'anna', session_id: session, endpoint: String(selection), from: today, status: 'failed' }, [a]],
      [{ pub_user_id: 'unknown' }, []],
    ];
    for (const [query, ids] of cases) expect(await idsOf(query), JSON.stringify(query)).toEqual(ids);
  });

  test('may return a short page for a slow filter with a cursor that skips no delivery', async () => {
    const endpointId = await manager.endpoint(hook.url);
    const rare = await manager.enqueueDelivery({ nowMs: Date.now() - dayMs });
    await t.pool.query(
      `insert into deliveries (day, id, publisher_id, endpoint_id, event, payload, status)
      select now()::date, (
          lpad(to_hex((extract(epoch from now()::date) * 1000)::bigint), 12, '0')
            || '7' || lpad(to_hex(n), 3, '0') || '8000' || lpad('', 12, '0')
        )::uuid,
        $1, $2, 'usp.selection', '', 'delivered' from generate_series(1, 4000) n`,
      [manager.id, endpointId],
    );
    await setStatus(rare, 'failed');
    const result = await list({ status: 'failed' });
    expect(result.deliveries.map(({ id }) => id)).toEqual([rare]);
    await t.pool.query("update deliveries set status = 'held' where endpoint_id = $1 and status = 'delivered'", [
      endpointId,
    ]);
    const listedIds: string[] = [];
    let query: Record<string, string> = { status: 'failed' };
    for (let more = true; more; ) {
      const { deliveries, next_cursor } = await list(query);
      listedIds.push(...deliveries.map(({ id }) => id));
      more = next_cursor !== null;
      if (next_cursor !== null) query = { ...query, cursor: next_cursor };
    }
    expect(listedIds).toEqual([rare]);
    const filter = readFilter({}, { endpointId, statuses: ['failed'] }, manager.id, Date.now());
    const hurried = await findPage(t.pool, filter, null, 5, 0);
    expect(hurried.keys).toEqual([]);
    expect(hurried.next).not.toBeNull();
    const patient = await findPage(t.pool, filter, null, 5, Number.POSITIVE_INFINITY);
    expect(patient).toEqual({ keys: [expect.objectContaining({ id: rare })], next: null });
  });

  test('lists thousands of pending deliveries newest first, each once', async () => {
    const endpointId = await manager.endpoint(hook.url);
    const { rows } = await t.pool.query<{ id: string }>(
      `with created as (
        insert into deliveries (day, id, publisher_id, endpoint_id, event, payload, status)
        select now()::date, (
          lpad(to_hex((extract(epoch from now()::date) * 1000)::bigint), 12, '0')
            || '7' || lpad(to_hex(n), 3, '0') || '9000' || lpad('', 12, '0')
        )::uuid,
          $1, $2, 'usp.selection', '', case when n % 7 = 0 then 'delivered' else 'pending' end
        from generate_series(1, 3000) n
        returning day, id, endpoint_id, status
      ), queued as (
        insert into delivery_queue (delivery_id, day, endpoint_id, due_at)
        select id, day, endpoint_id, now() + interval '1 day' from created where status = 'pending'
      )
      select id from created where status = 'pending' order by id desc`,
      [manager.id, endpointId],
    );
    const listedIds: string[] = [];
    let query: Record<string, string> = { status: 'pending', limit: '200' };
    for (let more = true; more; ) {
      const { deliveries, next_cursor } = await list(query);
      listedIds.push(...deliveries.map(({ id }) => id));
      more = next_cursor !== null;
      if (next_cursor !== null) query = { ...query, cursor: next_cursor };
    }
    expect(listedIds).toEqual(rows.map(({ id }) => id));
  });

  test('shows nothing to another publisher with any filter', async () => {
    const endpointId = await manager.endpoint(hook.url);
    const session = newUuid7(Date.now());
    const id = await manager.enqueueDelivery({ sessionId: session, pubUserId: 'anna' });
    const queries = [
      {},
      { session_id: session },
      { pub_user_id: 'anna' },
      { endpoint: String(endpointId) },
      { status: 'pending' },
    ];
    for (const query of queries)
      expect(await idsOf(query as Record<string, string>, foreign), JSON.stringify(query)).toEqual([]);
    const [theirs, none] = [
      await foreign.call('GET', `/deliveries/${id}`),
      await foreign.call('GET', `/deliveries/${newUuid7(Date.now())}`),
    ];
    expect([theirs.statusCode, none.statusCode]).toEqual([404, 404]);
    expect(theirs.json().error).toEqual(none.json().error);
  });

  test.each([
    ['event', 'usp.nothing'],
    ['status', 'lost'],
    ['endpoint', '0'],
    ['endpoint', '99999999999'],
    ['endpoint', '1 or 1=1'],
    ['limit', '0'],
    ['limit', '201'],
    ['limit', '1e1'],
    ['from', 'yesterday'],
    ['from', '2026-13-01'],
    ['to', '2026-11-21T10:00:00'],
    ['session_id', "'; drop table deliveries; --"],
    ['session_id', '00000000-0000-4000-8000-000000000000'],
    ['pub_user_id', 'a\0b'],
    ['pub_user_id', '  '],
    ['pub_user_id', 'x'.repeat(257)],
    ['cursor', 'x'],
    ['from', '2026-02-30'],
    ['to', '2025-02-29T10:00:00Z'],
    ['cursor', 'AAAAAAAAAAAAAAAAAAAAAA'],
    ['cursor', '_____________________w'],
    ['cursor', '//////////////////////'],
  ])('400: %s=%s', async (name, value) => {
    const answer = await manager.call('GET', `/deliveries?${new URLSearchParams({ [name]: value })}`);
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.code).toBe('invalid_request');
  });

  test('400: a repeated parameter', async () => {
    expect((await manager.call('GET', '/deliveries?status=held&status=failed')).statusCode).toBe(400);
  });

  test('a distant time matches nothing and is not an error', async () => {
    await manager.endpoint(hook.url);
    await manager.enqueueDelivery();
    for (const query of [{ to: '0001-01-01' }, { from: '9999-12-31' }])
      expect(await idsOf(query as Record<string, string>)).toEqual([]);
    expect(await idsOf({ from: '0001-01-01', to: '9999-12-31T23:59:59Z' })).toHaveLength(1);
  });

  test('401 without a key, and 403 with another permission', async () => {
    for (const url of ['/manage/v1/deliveries', `/manage/v1/deliveries/${newUuid7(Date.now())}`]) {
      expect((await t.app.inject({ url })).statusCode).toBe(401);
      expect((await t.app.inject({ url: `${url}?api_key=${t.publisher.sdkId}` })).statusCode).toBe(403);
    }
  });
});

describe('GET /manage/v1/deliveries/{id}', () => {
  test('shows the payload and every attempt with its request and response', async () => {
    await hook.close();
    hook = await startHook((response, _taken, count) => {
      response.statusCode = count === 1 ? 500 : 200;
      response.setHeader('x-count', String(count)).end(count === 1 ? 'no' : Buffer.from([0xff, 0x00, 0xfe]));
    });
    const { secret } = (
      await manager.call('PUT', '/webhook-endpoints/usp.selection', {
        url: `${hook.url}?shop=1`,
        method: 'POST',
        retry_steps_s: [0, 0],
        headers: { authorization: 'Bearer very-secret' },
      })
    ).json().data;
    const payload = Buffer.from('{"body": {"text":"ü"}}\n');
    const id = await manager.enqueueDelivery({ payload, pubUserId: 'anna' });
    const dispatcher = await startTestDispatcher(t);
    await until(async () => (await list()).deliveries[0]?.status, 'delivered');
    await dispatcher.stop();

    const answer = await manager.call('GET', `/deliveries/${id}`);
    expect(answer.statusCode, answer.body).toBe(200);
    const { data } = answer.json();
    const webhookId = `msg_${id.replaceAll('-', '')}`;
    expect(data).toMatchObject({
      id,
      webhook_id: webhookId,
      status: 'delivered',
      tries: 2,
      pub_user_id: 'anna',
      last_status: 200,
      next_try_at: null,
    });
    expect(data.payload).toBe(payload.toString());
    expect(data.attempts).toHaveLength(2);
    const [first, second] = data.attempts;
    expect(first).toMatchObject({
      number: 1,
      outcome: 'retry',
      error: { class: 'status', message: 'The server responded with status 500.' },
      request: { method: 'POST', url: `${hook.url}?shop=1`, body_bytes: payload.length },
      response: { status: 500, body: 'no', body_encoding: 'utf-8', body_bytes: 2, truncated: false },
      remote_address: '127.0.0.1',
      next_try_at: expect.any(String),
    });
    expect(first.response.headers['x-count']).toBe('1');
    expect(first.timing).toEqual({
      dns_ms: expect.any(Number),
      connect_ms: expect.any(Number),
      tls_ms: null,
      first_byte_ms: expect.any(Number),
      total_ms: expect.any(Number),
    });
    expect(second).toMatchObject({
      number: 2,
      outcome: 'delivered',
      error: null,
      response: { status: 200, body_encoding: 'base64', body_bytes: 3 },
    });
    expect(Buffer.from(second.response.body, 'base64')).toEqual(Buffer.from([0xff, 0x00, 0xfe]));
    new Webhook(secret).verify(data.payload, second.request.headers);
    expect(answer.body).not.toContain('very-secret');
    expect(answer.body).not.toContain(secret);
    expect(second.request.headers.authorization).toBe('[hidden]');
    expect((await manager.call('GET', `/deliveries/${webhookId}`)).json().data.id).toBe(id);
  });

  test('keeps 16 KiB of a response and marks it as truncated', async () => {
    await hook.close();
    hook = await startHook((response) => response.end('ü'.repeat(20_000)));
    await manager.endpoint(hook.url);
    const id = await manager.enqueueDelivery();
    const dispatcher = await startTestDispatcher(t);
    await until(async () => (await list()).deliveries[0]?.status, 'delivered');
    await dispatcher.stop();
    const [attempt] = (await manager.call('GET', `/deliveries/${id}`)).json().data.attempts;
    expect(attempt.response).toMatchObject({ body_bytes: 16_384, truncated: true, body_encoding: 'utf-8' });
  });

  test('shows an erased delivery without its payload', async () => {
    await manager.endpoint(hook.url);
    const id = await manager.enqueueDelivery();
    await setStatus(id, 'failed');
    await t.pool.query(
      'update deliveries set payload = \'{"erased":true}\', erased_at = now(), pub_user_id = null where id = $1',
      [id],
    );
    expect((await manager.call('GET', `/deliveries/${id}`)).json().data).toMatchObject({
      payload: null,
      erased_at: expect.any(String),
    });
  });

  test.each(['x', '0', 'msg_', '%00', 'ffffffff-ffff-7fff-bfff-ffffffffffff', '00000000-0000-7000-8000-000000000000'])(
    '404: %s',
    async (id) => {
      const answer = await manager.call('GET', `/deliveries/${id}`);
      expect(answer.statusCode).toBe(404);
      expect(answer.json().error.code).toBe('delivery_not_found');
    },
  );
});
