import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { transaction } from '../../../src/platform/db/pool.ts';
import { hashKey } from '../../../src/platform/http/auth.ts';
import { removeAbandonedListeners } from '../../../src/webhooks/listen/listeners.ts';
import { enqueue } from '../../../src/webhooks/outbox.ts';
import { checkStalledPulls } from '../../../src/webhooks/pull/stalled.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import { startTestDispatcher } from '../dispatcher/support.ts';
import { addManager, type Manager } from '../endpoints/manager.ts';

let t: WebhooksApp;
let me: Manager;
let endpoint: number;
let secret: string;
beforeAll(async () => {
  t = await createWebhooksApp();
});
afterAll(() => t.close());
beforeEach(async () => {
  me = await addManager(t);
  ({ id: endpoint, secret } = await addPull(me));
});

async function addPull(manager: Manager): Promise<{ id: number; secret: string }> {
  const body = { destination: { kind: 'pull' }, events: ['usp.selection'] };
  const answer = await manager.call('POST', '/webhook-endpoints', body);
  expect(answer.statusCode, answer.body).toBe(201);
  expect(answer.json().data).toMatchObject({ destination: { kind: 'pull' } });
  return answer.json().data;
}

type Entry = { cursor: string; delivery_id: string; webhook_id: string; headers: Record<string, string>; body: string };
type Page = { events: Entry[]; cursor: string | null; acknowledged: number };

async function pull(query: Record<string, string | number> = {}, manager = me): Promise<Page> {
  const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const answer = await manager.call('GET', `/events?${text}`);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json().data;
}

const idsOf = ({ events }: Page): string[] => events.map(({ delivery_id: id }) => id);
const statusOf = async (id: string) =>
  (await t.pool.query('select status, attempts from deliveries where id = $1', [id])).rows[0];

async function enqueueMany(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) ids.push(await me.enqueueDelivery());
  return ids;
}

test('a pulled event has the same bytes, headers and signature as a webhook', async () => {
  const payload = Buffer.from('{ "body" : {"pub_user_id":"ü 1"} }');
  const id = await me.enqueueDelivery({ payload });
  const { events } = await pull();
  expect(events).toMatchObject([{ delivery_id: id, event: 'usp.selection', body: payload.toString() }]);
  const [{ headers, body, webhook_id: webhookId }] = events as [Entry];
  expect(headers['webhook-id']).toBe(webhookId);
  expect(new Webhook(secret).verify(body, headers)).toMatchObject({ body: { pub_user_id: 'ü 1' } });
});

test('a transformation of pulled events is rejected, with the error at its expression', async () => {
  const refused = [
    me.call('POST', '/webhook-endpoints', {
      destination: { kind: 'pull' },
      events: ['conversion'],
      transformation: { body: '{ "user": body.pub_user_id }' },
    }),
    me.call('PATCH', `/webhook-endpoints/${endpoint}`, { transformation: { body: 'body' } }),
  ];
  for (const { statusCode, json } of await Promise.all(refused)) {
    expect(statusCode).toBe(400);
    expect(json().error).toMatchObject({
      code: 'invalid_endpoint',
      details: [{ path: '/transformation/body', message: expect.stringContaining('cannot be transformed') }],
    });
  }
  const removed = await me.call('PATCH', `/webhook-endpoints/${endpoint}`, { transformation: null });
  expect(removed.statusCode, removed.body).toBe(200);
});

test('events are returned in order, and are repeated until their cursor is passed', async () => {
  const ids = await enqueueMany(5);
  const first = await pull({ limit: 2 });
  expect(idsOf(first)).toEqual(ids.slice(0, 2));
  expect(idsOf(await pull({ limit: 2 }))).toEqual(ids.slice(0, 2));
  expect(await statusOf(ids[0] as string)).toEqual({ status: 'pending', attempts: 0 });
  const second = await pull({ limit: 2, after: first.cursor as string });
  expect(second.acknowledged).toBe(2);
  expect(idsOf(second)).toEqual(ids.slice(2, 4));
  expect(await statusOf(ids[0] as string)).toEqual({ status: 'delivered', attempts: 1 });
  // The cursor of a single event acknowledges only a part of the page.
  const third = await pull({ limit: 5, after: (second.events[0] as Entry).cursor });
  expect(idsOf(third)).toEqual(ids.slice(3));
  const last = await pull({ after: third.cursor as string });
  expect(last).toMatchObject({ events: [], acknowledged: 2, cursor: third.cursor });
  // An old cursor acknowledges nothing.
  expect(await pull({ after: first.cursor as string })).toMatchObject({ events: [], acknowledged: 0 });
});

test('an event whose transaction commits late is not skipped', async () => {
  const event = { event: 'usp.selection', sessionId: null, pubUserId: null, dev: false, publisherId: me.id };
  const payload = () => Buffer.from('{"body":{}}');
  let late = '';
  let page: Page | null = null;
  await transaction(t.pool, async (executor) => {
    [late = ''] = await enqueue(executor, [{ ...event, payload, nowMs: Date.now() }]);
    const [newer] = await enqueueMany(1);
    page = await pull();
    expect(idsOf(page)).toEqual([newer]);
  });
  const next = await pull({ after: (page as Page | null)?.cursor as string });
  expect(next.acknowledged).toBe(1);
  expect(idsOf(next)).toEqual([late]);
});

test('a waiting call returns as soon as there is an event, and holds no database connection', async () => {
  const call = pull({ wait: 30 });
  const others = Array.from({ length: 4 }, () => pull({ wait: 30 }));
  await vi.waitFor(() => expect(t.pool.idleCount).toBe(t.pool.totalCount));
  const id = await me.enqueueDelivery();
  for (const page of await Promise.all([call, ...others])) expect(idsOf(page)).toEqual([id]);
});

test('two consumers see the same events, and share the cursor', async () => {
  const ids = await enqueueMany(3);
  const [first, second] = await Promise.all([pull(), pull()]);
  expect(idsOf(first)).toEqual(ids);
  expect(idsOf(second)).toEqual(ids);
  expect((await pull({ after: (first.events[1] as Entry).cursor })).acknowledged).toBe(2);
  expect((await pull({ after: second.cursor as string })).acknowledged).toBe(1);
});

test('a cursor that was never returned acknowledges nothing', async () => {
  const [id] = await enqueueMany(1);
  await pull();
  for (const after of [`${endpoint}.2`, `${endpoint + 1}.1`, 'x', `${endpoint}.1;`, `${endpoint}.`]) {
    const answer = await me.call('GET', `/events?after=${encodeURIComponent(after)}`);
    expect(answer.json()).toMatchObject({ error: { code: 'invalid_request', details: [{ path: '/after' }] } });
  }
  expect(await statusOf(id as string)).toMatchObject({ status: 'pending' });
});

test('another publisher, another kind of endpoint and a removed one give no events', async () => {
  await me.enqueueDelivery();
  const other = await addManager(t);
  const web = await other.endpoint('http://127.0.0.1:9/');
  for (const query of ['', `?endpoint=${endpoint}`, `?endpoint=${web}`, '?endpoint=999999'])
    expect((await other.call('GET', `/events${query}`)).json()).toMatchObject({
      error: { code: 'endpoint_not_found' },
    });
  const stream = await me.call('GET', `/webhook-listeners/${endpoint}/stream`);
  expect(stream.json()).toMatchObject({ error: { code: 'endpoint_not_found' } });
  await me.call('DELETE', `/webhook-endpoints/${endpoint}`);
  expect((await me.call('GET', '/events')).statusCode).toBe(404);
});

test('a wrong call is told which endpoint or value is missing', async () => {
  const problemOf = async (query: string, manager = me): Promise<string> => {
    const { error } = (await manager.call('GET', `/events${query}`)).json();
    return error.details?.[0]?.message ?? error.message;
  };
  expect(await problemOf('?endpoint=999999')).toBe('No pull endpoint has this ID.');
  expect(await problemOf('', await addManager(t))).toContain('There is no pull endpoint yet.');
  expect(await problemOf('?limit=501')).toBe('The value must be a whole number from 1 to 500.');
});

test('the endpoint ID can be omitted if there is only one pull endpoint', async () => {
  const second = await addPull(me);
  const answer = await me.call('GET', '/events');
  expect(answer.json()).toMatchObject({ error: { details: [{ path: '/endpoint' }] } });
  const id = await me.enqueueDelivery();
  const pages = [await pull({ endpoint }), await pull({ endpoint: second.id })];
  expect(pages.map(({ events }) => events.length)).toEqual([1, 1]);
  expect(idsOf(pages[0] as Page)).not.toEqual(idsOf(pages[1] as Page));
  expect(pages.flatMap(idsOf)).toContain(id);
});

test('a key with the `events` permission can pull events, but change nothing', async () => {
  const key = randomBytes(8).toString('hex');
  await t.pool.query(
    "insert into api_keys (publisher_id, name, key_hash, permissions) values ($1, 'x', decode($2, 'hex'), '{events}')",
    [me.id, hashKey(key)],
  );
  await t.deps.catalog.refresh();
  const headers = { authorization: `Bearer ${key}` };
  const call = (url: string) => t.app.inject({ method: 'GET', url: `/manage/v1${url}`, headers });
  expect((await call('/events')).statusCode).toBe(200);
  for (const url of ['/webhook-endpoints', '/deliveries', '/campaigns']) expect((await call(url)).statusCode).toBe(403);
});

test('events wait for their consumer for any time, without attempts, failures or removal of the endpoint', async () => {
  const id = await me.enqueueDelivery();
  await t.pool.query("update webhook_endpoints set created_at = now() - interval '1 day' where id = $1", [endpoint]);
  await removeAbandonedListeners(t.pool);
  const dispatcher = await startTestDispatcher(t, { pollMs: 50 });
  const web = await addManager(t);
  await web.endpoint('http://127.0.0.1:9/', { retry_steps_s: [0] });
  const failed = await web.enqueueDelivery();
  await vi.waitFor(async () => expect(await statusOf(failed)).toMatchObject({ status: 'failed' }), 30_000);
  await dispatcher.stop();
  expect(await statusOf(id)).toEqual({ status: 'pending', attempts: 0 });
  expect(idsOf(await pull())).toEqual([id]);
});

test('a paused endpoint returns no events, a disabled one holds them, and a redelivery is returned again', async () => {
  const [id = ''] = await enqueueMany(1);
  await me.call('POST', `/webhook-endpoints/${endpoint}/pause`);
  expect(await pull({ wait: 1 })).toMatchObject({ events: [] });
  await me.call('POST', `/webhook-endpoints/${endpoint}/resume`);
  const { cursor } = await pull();
  await me.call('PATCH', `/webhook-endpoints/${endpoint}`, { enabled: false });
  expect((await me.call('GET', '/events')).json()).toMatchObject({ error: { code: 'endpoint_disabled' } });
  expect(await statusOf(id)).toMatchObject({ status: 'held' });
  await me.call('PATCH', `/webhook-endpoints/${endpoint}`, { enabled: true });
  expect(await pull({ after: cursor as string })).toMatchObject({ events: [], acknowledged: 0 });
  await me.call('POST', `/deliveries/${id}/replay`);
  const again = await pull({ after: cursor as string });
  expect(idsOf(again)).toEqual([id]);
  await pull({ after: again.cursor as string });
  expect(await statusOf(id)).toEqual({ status: 'delivered', attempts: 1 });
  const { attempts } = (await me.call('GET', `/deliveries/${id}`)).json().data;
  expect(attempts.map(({ outcome }: { outcome: string }) => outcome)).toContain('delivered');
});

/** Returns the attempts of a delivery in the log, as the API shows them. */
const attemptsOf = async (id: string) => (await me.call('GET', `/deliveries/${id}`)).json().data.attempts;

test('an attempt stays open until it is acknowledged, and is stored once, with its outcome', async () => {
  const [id = ''] = await enqueueMany(1);
  const { cursor } = await pull();
  const stored = async () =>
    (await t.pool.query('select outcome, written_by from delivery_attempts where delivery_id = $1', [id])).rows;
  const running = await attemptsOf(id);
  expect(running).toMatchObject([{ number: 1, outcome: null, finished_at: null, started_at: expect.any(String) }]);
  expect(await stored()).toEqual([]);
  const { rows } = await t.pool.query(
    `update delivery_queue set claimed_at = claimed_at - interval '3 hours' where delivery_id = $1
    returning claimed_at, pg_current_xact_id() as exported`,
    [id],
  );
  const [{ claimed_at: startedAt, exported }] = rows;
  await pull({ after: cursor as string });
  const [attempt] = await attemptsOf(id);
  expect(attempt).toMatchObject({ outcome: 'delivered', started_at: startedAt.toISOString() });
  expect(attempt.finished_at).not.toBeNull();
  const [row, ...others] = await stored();
  expect(others).toEqual([]);
  expect(BigInt(row.written_by)).toBeGreaterThan(BigInt(exported));
});

test('an attempt whose endpoint is disabled first stays in the log without an outcome', async () => {
  const [id = ''] = await enqueueMany(1);
  await pull();
  const before = await attemptsOf(id);
  await me.call('PATCH', `/webhook-endpoints/${endpoint}`, { enabled: false });
  expect(await statusOf(id)).toMatchObject({ status: 'held' });
  expect(await attemptsOf(id)).toEqual(before);
});

test('an endpoint whose events nobody acknowledges for an hour is failing, and can recover', async () => {
  const state = async () => (await me.call('GET', `/webhook-endpoints/${endpoint}`)).json().data.state;
  await me.enqueueDelivery();
  const check = () => checkStalledPulls({ pool: t.pool, logger: t.deps.logger });
  await check();
  expect(await state()).toMatchObject({ warning: null });
  const hours = (count: number) =>
    t.pool.query("update delivery_queue set due_at = now() - $2 * interval '1 hour' where endpoint_id = $1", [
      endpoint,
      count,
    ]);
  await hours(2);
  const { cursor } = await pull();
  await check();
  await check();
  expect(await state()).toMatchObject({ warning: 'failing', failures: 3, status: 'active' });
  const raised = await t.pool.query('select event from operational_events where publisher_id = $1', [me.id]);
  expect(raised.rows).toEqual([{ event: 'endpoint.failing' }]);
  await pull({ after: cursor as string });
  expect(await state()).toMatchObject({ warning: null, failures: 0, last_success_at: expect.any(String) });
  // A consumer that is behind but acknowledges is not failing.
  await me.enqueueDelivery();
  await hours(2);
  await check();
  expect(await state()).toMatchObject({ warning: null });
});

test('a large backlog comes in pages that respect the size limit', async () => {
  const payload = Buffer.from(JSON.stringify({ body: { text: 'x'.repeat(900_000) } }));
  for (let index = 0; index < 6; index++) await me.enqueueDelivery({ payload });
  const page = await pull({ limit: 500 });
  expect(page.events.length).toBe(5);
  expect((await pull({ after: page.cursor as string, limit: 500 })).events.length).toBe(1);
});

test('an erased event is not pulled any more', async () => {
  const [id = ''] = await enqueueMany(1);
  const { cursor } = await pull();
  await t.pool.query('delete from delivery_queue where delivery_id = $1', [id]);
  expect(await pull({ after: cursor as string })).toMatchObject({ events: [], acknowledged: 0 });
});
