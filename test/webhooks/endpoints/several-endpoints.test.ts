import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { transaction } from '../../../src/platform/db/pool.ts';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { enqueue } from '../../../src/webhooks/outbox.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import { createParts, until } from '../dispatcher/support.ts';
import { addManager, type Manager } from './manager.ts';

const base = '/webhook-endpoints';
const url = 'http://127.0.0.1:9/hook';

let t: WebhooksApp;
let me: Manager;
const { hook, dispatcher, end } = createParts(() => t);

beforeAll(async () => {
  t = await createWebhooksApp();
});
beforeEach(async () => {
  me = await addManager(t);
});
afterEach(end);
afterAll(() => t.close());

async function add(settings: object = {}): Promise<{ id: number; secret: string }> {
  const answer = await me.call('POST', base, { url, events: ['usp.selection'], ...settings });
  expect(answer.statusCode, answer.body).toBe(201);
  return answer.json().data;
}

/** Returns the endpoints of all deliveries, with event and status. */
async function deliveries(): Promise<{ endpoint_id: number; event: string; status: string }[]> {
  const { rows } = await t.pool.query(
    'select endpoint_id, event, status from deliveries where publisher_id = $1 order by endpoint_id, event',
    [me.id],
  );
  return rows;
}
const targets = async (): Promise<number[]> => (await deliveries()).map(({ endpoint_id }) => endpoint_id);

describe('the API', () => {
  test('gives endpoints their own IDs, settings and secrets in addition to the default of an event', async () => {
    const byEvent = await me.endpoint(url);
    const filter = { key: 'body.selected', op: 'equals', value: 1 };
    const endpoint = await add({ events: ['usp.selection', 'conversion'], description: 'Warehouse', filter });
    expect(endpoint).toMatchObject({
      event: null,
      events: ['usp.selection', 'conversion'],
      description: 'Warehouse',
      filter,
      method: 'POST',
      secret: expect.stringMatching(/^whsec_/),
    });
    const changed = await me.call('PATCH', `${base}/${endpoint.id}`, {
      events: ['conversion'],
      filter: null,
      deadline_ms: 2000,
    });
    expect(changed.json().data).toMatchObject({
      events: ['conversion'],
      filter: null,
      description: 'Warehouse',
      deadline_ms: 2000,
    });
    const put = await me.call('PUT', `${base}/${endpoint.id}`, { url: `${url}/2`, method: 'GET' });
    expect(put.json().data).toMatchObject({
      url: `${url}/2`,
      method: 'GET',
      events: ['conversion'],
      deadline_ms: 2000,
    });
    expect((await me.call('POST', `${base}/${endpoint.id}/pause`)).json().data.paused_at).not.toBeNull();
    expect((await me.call('POST', `${base}/${endpoint.id}/rotate-secret`)).json().data.secret).not.toBe(
      endpoint.secret,
    );
    expect((await me.call('GET', base)).json().data.map(({ id }: { id: number }) => id)).toEqual([
      byEvent,
      endpoint.id,
    ]);
    expect((await me.call('GET', `${base}/${byEvent}`)).json().data).toMatchObject({
      event: 'usp.selection',
      events: ['usp.selection'],
    });
    const removed = await me.call('DELETE', `${base}/${endpoint.id}`);
    expect(removed.json().data).toEqual({ id: endpoint.id, event: null, removed: true });
    expect((await me.call('GET', `${base}/${endpoint.id}`)).statusCode).toBe(404);
  });

  test("responds with 404 to another publisher's endpoint", async () => {
    const { id } = await add();
    const foreign = await addManager(t);
    for (const [method, path, body] of [
      ['GET', ''],
      ['PUT', '', { url, method: 'POST' }],
      ['PATCH', '', { url }],
      ['DELETE', ''],
      ['POST', '/pause'],
      ['POST', '/test', { url }],
    ] as const)
      expect((await foreign.call(method, `${base}/${id}${path}`, body)).statusCode).toBe(404);
  });

  test('rejects invalid settings with an explanation and stores nothing', async () => {
    const byEvent = await me.endpoint(url);
    const details = async (method: 'POST' | 'PUT' | 'PATCH', path: string, body: object) => {
      const answer = await me.call(method, path, body);
      expect([answer.statusCode, answer.json().error.code]).toEqual([400, 'invalid_endpoint']);
      return answer.json().error.details;
    };
    expect(await details('POST', base, { url, events: ['usp.nothing'] })).toEqual([
      { path: '/events/0', message: expect.stringContaining('Unknown event type') },
    ]);
    expect(await details('POST', base, { url, events: ['conversion', 'conversion'] })).toEqual([
      { path: '/events/1', message: 'The value occurs more than once. Remove the duplicate.' },
    ]);
    expect(await details('PATCH', `${base}/${byEvent}`, { events: ['conversion'] })).toEqual([
      { path: '/events/0', message: expect.stringContaining('the default endpoint of usp.selection') },
    ]);
    expect(await details('POST', base, { url, events: ['conversion'], filter: { key: 'x' } })).toEqual([
      { path: '/filter/op', message: expect.stringContaining('must be one of') },
    ]);
    const own = new URL(t.deps.config.publicUrl);
    for (const port of [own.port, own.protocol === 'http:' ? '' : own.port])
      expect(
        await details('POST', base, {
          url: `http://${own.hostname}${port && ':'}${port}/track`,
          events: ['conversion'],
        }),
      ).toEqual([{ path: '/url', message: expect.stringContaining('must not point to this service') }]);
    expect((await me.call('GET', base)).json().data).toHaveLength(1);
  });

  test('limits a publisher to twenty endpoints', async () => {
    await me.endpoint(url);
    for (let count = 1; count < 20; count++) await add();
    const answers = await Promise.all([
      me.call('POST', base, { url, events: ['conversion'] }),
      me.call('PUT', `${base}/conversion`, { url, method: 'POST' }),
    ]);
    expect(answers.map((answer) => [answer.statusCode, answer.json().error.code])).toEqual([
      [409, 'too_many_endpoints'],
      [409, 'too_many_endpoints'],
    ]);
    expect((await me.call('PUT', `${base}/usp.selection`, { url: `${url}/2`, method: 'POST' })).statusCode).toBe(200);
  });
});

describe('an event', () => {
  test('is sent once to each subscribed endpoint whose filter matches, and held for disabled ones', async () => {
    const byEvent = await me.endpoint(url);
    const listed = await add({ events: ['conversion', 'usp.selection'] });
    await add({ events: ['conversion'] });
    const through = await add({ filter: { key: 'body.selected', op: 'equals', value: 1 } });
    await add({ filter: { key: 'body.selected', op: 'equals', value: 0 } });
    const disabled = await add({ enabled: false });
    const removed = await add();
    await me.call('DELETE', `${base}/${removed.id}`);
    await me.enqueueDelivery({ payload: Buffer.from('{"body":{"selected":1}}') });
    expect(await deliveries()).toEqual([
      { endpoint_id: byEvent, event: 'usp.selection', status: 'pending' },
      { endpoint_id: listed.id, event: 'usp.selection', status: 'pending' },
      { endpoint_id: through.id, event: 'usp.selection', status: 'pending' },
      { endpoint_id: disabled.id, event: 'usp.selection', status: 'held' },
    ]);
    const response = await me.call('GET', '/deliveries?event=usp.selection&limit=3');
    expect(response.json().data.deliveries).toHaveLength(3);
    expect((await me.call('GET', '/deliveries?event=conversion')).json().data.deliveries).toEqual([]);
    expect((await me.call('GET', '/deliveries/balance')).json().data).toMatchObject({ created: 4, balanced: true });
  });

  test('repeated with the same ID reaches each endpoint once, including a newly added one', async () => {
    const byEvent = await me.endpoint(url);
    const first = await add();
    const nowMs = Date.now();
    const event = {
      publisherId: me.id,
      event: 'usp.selection',
      sessionId: null,
      pubUserId: null,
      dev: true,
      payload: () => Buffer.from('{}'),
      nowMs,
      id: newUuid7(nowMs),
    };
    const send = () => transaction(t.pool, (executor) => enqueue(executor, [event]));
    const ids = await send();
    expect(await send()).toEqual(ids);
    expect(await targets()).toEqual([byEvent, first.id]);
    const later = await add();
    await send();
    expect(await targets()).toEqual([byEvent, first.id, later.id]);
  });

  test('is neither lost nor duplicated while its endpoint is changed', async () => {
    const { id } = await add();
    const client = await t.pool.connect();
    await client.query('begin');
    await enqueue({ query: client.query.bind(client), onCommit: () => {} } as never, [
      {
        publisherId: me.id,
        event: 'usp.selection',
        sessionId: null,
        pubUserId: null,
        dev: false,
        payload: () => Buffer.from('{}'),
        nowMs: Date.now(),
      },
    ]);
    const removed = me.call('DELETE', `${base}/${id}`);
    await client.query('commit');
    client.release();
    expect((await removed).statusCode).toBe(200);
    expect(await deliveries()).toEqual([{ endpoint_id: id, event: 'usp.selection', status: 'held' }]);
    await me.enqueueDelivery();
    expect(await targets()).toEqual([id]);
  });

  test('reaches the twentieth endpoint while nineteen hang', async () => {
    const hanging = await hook(() => {});
    const healthy = await hook();
    for (let count = 0; count < 19; count++) await add({ url: hanging.url, deadline_ms: 30_000 });
    await add({ url: healthy.url });
    for (let count = 0; count < 10; count++) await me.enqueueDelivery();
    await dispatcher({ concurrency: t.deps.config.workerConcurrency, drainLimitMs: 0 });
    await until(() => healthy.requests.length, 10);
    expect(new Set(healthy.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(10);
  });
});
