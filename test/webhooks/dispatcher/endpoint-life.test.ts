import { createPublicKey, verify } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { checkFailingEndpoints } from '../../../src/webhooks/dispatcher/settle/failing-endpoints.ts';
import { createHealthWatch, recordHealth } from '../../../src/webhooks/dispatcher/settle/health.ts';
import type { Settlement } from '../../../src/webhooks/dispatcher/settle/settle.ts';
import { createV1aKey } from '../../../src/webhooks/signature.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import {
  addEndpoint,
  createParts,
  deliveryOf,
  enqueueDelivery,
  type TestEndpoint,
  until,
  untilAttempted,
  untilScanned,
} from './support.ts';

let t: WebhooksApp;
const { hook, dispatcher, end } = createParts(() => t);

beforeAll(async () => {
  t = await createWebhooksApp();
});
afterEach(end);
afterAll(() => t.close());

const work = () => dispatcher({ drainLimitMs: 0, pollMs: 50 });
const healthOf = async ({ id }: TestEndpoint) =>
  (await t.pool.query('select * from endpoint_health where endpoint_id = $1', [id])).rows[0];
const change = (endpoint: TestEndpoint, assignment: string) =>
  t.pool.query(`update webhook_endpoints set ${assignment} where id = $1`, [endpoint.id]);
const wake = () => t.pool.query('notify perkwire_outbox');

describe('the circuit breaker', () => {
  test.each([1, 2])(
    'opens when half of ten calls by %i workers fail, keeps the queue, and closes after a probe',
    async (workers) => {
      let healthy = false;
      const receiver = await hook((response) => void response.writeHead(healthy ? 200 : 500).end());
      const endpoint = await addEndpoint(t, receiver.url);
      for (let count = 0; count < 10; count++) await enqueueDelivery(t, endpoint);
      for (let count = 0; count < workers; count += 1) await work();
      await until(async () => (await healthOf(endpoint)).breaker_state, 'open');
      await until(
        async () => (await t.pool.query('select 1 from delivery_queue where lease_until is not null')).rows.length,
        0,
      );
      const sent = receiver.requests.length;
      expect(sent).toBeLessThanOrEqual(13);
      const waiting = await Promise.all(Array.from({ length: 5 }, () => enqueueDelivery(t, endpoint)));
      await untilScanned(t, 12);
      expect(receiver.requests).toHaveLength(sent);
      for (const id of waiting)
        expect(await deliveryOf(t, id)).toEqual({
          status: 'pending',
          attempts: 0,
          queued: true,
          leased: false,
          finished: false,
        });

      healthy = true;
      await t.pool.query('update endpoint_health set open_until = now() where endpoint_id = $1', [endpoint.id]);
      await wake();
      await until(async () => (await deliveryOf(t, waiting[4] as string)).status, 'delivered');
      await until(async () => (await healthOf(endpoint)).breaker_state, 'closed');
      expect((await healthOf(endpoint)).times_opened).toBe(0);
    },
  );

  test('doubles the wait after a failed probe, up to fifteen minutes, and makes only one call', async () => {
    const receiver = await hook((response) => void response.writeHead(500).end());
    const endpoint = await addEndpoint(t, receiver.url);
    const deliveries: string[] = [];
    for (let count = 0; count < 4; count++) deliveries.push(await enqueueDelivery(t, endpoint));
    const openWithDueDeliveries = `
      with due as (update delivery_queue set due_at = now() where endpoint_id = $1)
      update endpoint_health set breaker_state = 'open', times_opened = $2, open_until = now() where endpoint_id = $1`;
    await work();
    for (const id of deliveries) await untilAttempted(t, id, 1);
    for (const [opened, waitS] of [
      [1, 60],
      [2, 120],
      [5, 900],
      [50, 900],
    ] as const) {
      const before = receiver.requests.length;
      const startMs = Date.now();
      await t.pool.query(openWithDueDeliveries, [endpoint.id, opened]);
      await wake();
      await until(async () => (await healthOf(endpoint)).times_opened, opened + 1);
      const { open_until } = await healthOf(endpoint);
      expect(open_until.getTime() - startMs).toBeGreaterThanOrEqual(waitS * 1000);
      expect(open_until.getTime() - Date.now()).toBeLessThanOrEqual(waitS * 1000);
      expect(receiver.requests).toHaveLength(before + 1);
    }
  });

  test('opens after five timeouts in a row, and limits calls to one at a time after the first', async () => {
    const receiver = await hook(() => {});
    const endpoint = await addEndpoint(t, receiver.url, { deadline_ms: 1000, max_in_flight: 2 });
    for (let count = 0; count < 8; count++) await enqueueDelivery(t, endpoint);
    await work();
    await until(() => receiver.requests.length, 2);
    await until(async () => (await healthOf(endpoint)).in_flight_limit, 1);
    await until(async () => (await healthOf(endpoint)).breaker_state, 'open');
    expect(receiver.requests).toHaveLength(5);
    const times = receiver.requests.map(({ atMs }) => atMs);
    for (const index of [3, 4]) expect((times[index] as number) - (times[index - 1] as number)).toBeGreaterThan(900);
  });

  test('ignores late failures of a previous URL', async () => {
    const endpoint = await addEndpoint(t, 'http://127.0.0.1:9/new');
    const failed = (url: string) =>
      ({
        outcome: 'failed',
        errorClass: 'timeout',
        claimed: { endpointId: endpoint.id, url, maxInFlight: 4, healthy: true },
      }) as Settlement;
    const watch = createHealthWatch(() => 0);
    const late = Array.from({ length: 10 }, () => failed('http://127.0.0.1:9/old'));
    await recordHealth(t.pool, watch.observe([...late, failed('http://127.0.0.1:9/new')]));
    expect(await healthOf(endpoint)).toMatchObject({ breaker_state: 'closed', failures: 1, timeouts_in_row: 1 });
  });

  test('is reset by a new URL or by enabling the endpoint again', async () => {
    const endpoint = await addEndpoint(t, 'http://127.0.0.1:9/');
    for (const assignment of ["url = 'http://127.0.0.1:9/new'", 'enabled = false', 'enabled = true']) {
      await t.pool.query("update endpoint_health set breaker_state = 'open', failures = 7 where endpoint_id = $1", [
        endpoint.id,
      ]);
      await change(endpoint, assignment);
      const staysOpen = assignment === 'enabled = false';
      expect(await healthOf(endpoint)).toMatchObject({
        breaker_state: staysOpen ? 'open' : 'closed',
        failures: staysOpen ? 7 : 0,
      });
    }
  });
});

describe('endpoint settings of a publisher', () => {
  test('limit the call rate, and every delivery arrives', async () => {
    const receiver = await hook();
    const endpoint = await addEndpoint(t, receiver.url, { rate_limit_per_s: 20 });
    for (let count = 0; count < 30; count++) await enqueueDelivery(t, endpoint);
    await work();
    await until(() => receiver.requests.length, 30);
    const times = receiver.requests.map(({ atMs }) => atMs);
    // Up to two calls may be saved up, to compensate for late timers.
    for (let first = 0; first + 23 < times.length; first++)
      expect((times[first + 23] as number) - (times[first] as number)).toBeGreaterThan(950);
  });

  test('send one delivery at a time in creation order in strict order, and a retry delays later ones', async () => {
    let failing = true;
    const receiver = await hook((response, _taken, count) => {
      setTimeout(() => response.writeHead(failing && count === 3 ? 500 : 200).end(), 5);
    });
    const endpoint = await addEndpoint(t, receiver.url, { strict_order: true });
    const ids: string[] = [];
    for (let count = 0; count < 12; count++) ids.push(await enqueueDelivery(t, endpoint));
    await work();
    await work();
    await untilAttempted(t, ids[2] as string, 1);
    await untilScanned(t, 24); // by two workers
    expect(receiver.requests).toHaveLength(3);
    failing = false;
    await t.pool.query('update endpoint_health set not_before = now() where endpoint_id = $1', [endpoint.id]);
    await wake();
    await until(() => receiver.requests.length, 13);
    const order = receiver.requests.map(({ headers }) => headers['webhook-id']);
    order.splice(2, 1);
    expect(order).toEqual(ids.map((id) => `msg_${id.replaceAll('-', '')}`));
  });

  test('add custom headers, except those of the message and the transport', async () => {
    const receiver = await hook();
    const headers = {
      'X-Api-Key': 's3cret',
      Host: 'evil.example',
      'webhook-id': 'x',
      'perkwire-event': 'x',
      'Content-Length': '1',
      'user-agent': 'x',
    };
    const endpoint = await addEndpoint(t, receiver.url, { headers });
    const id = await enqueueDelivery(t, endpoint);
    await work();
    await until(() => receiver.requests.length, 1);
    const sent = receiver.requests[0]?.headers ?? {};
    expect(sent).toMatchObject({
      'x-api-key': 's3cret',
      'webhook-id': `msg_${id.replaceAll('-', '')}`,
      'perkwire-event': 'usp.selection',
    });
    expect(sent.host).toBe(new URL(receiver.url).host);
    expect(sent['user-agent']).toMatch(/^Perkwire\//);
  });

  test('add an ed25519 signature that verifies with the public key', async () => {
    const receiver = await hook();
    const { publicKey, sealed } = createV1aKey(t.deps.secretBox);
    await enqueueDelivery(t, await addEndpoint(t, receiver.url, { v1a_key_sealed: sealed, signature_v1a: true }));
    await work();
    await until(() => receiver.requests.length, 1);
    const { headers, body } = receiver.requests[0] as (typeof receiver.requests)[number];
    const [first, second] = (headers['webhook-signature'] ?? '').split(' ');
    expect(first).toMatch(/^v1,/);
    expect(second).toMatch(/^v1a,/);
    const der = Buffer.concat([
      Buffer.from('302a300506032b6570032100', 'hex'),
      Buffer.from(publicKey.slice('whpk_'.length), 'base64'),
    ]);
    const message = Buffer.concat([Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`), body]);
    const signature = Buffer.from((second ?? '').slice('v1a,'.length), 'base64');
    expect(verify(null, message, createPublicKey({ key: der, format: 'der', type: 'spki' }), signature)).toBe(true);
  });
});

describe('a pause', () => {
  test('keeps the deliveries of an endpoint queued, and sends them at a limited rate after it resumes', async () => {
    const receiver = await hook();
    const endpoint = await addEndpoint(t, receiver.url, { paused_at: new Date() });
    const ids = await Promise.all(Array.from({ length: 12 }, () => enqueueDelivery(t, endpoint)));
    await work();
    await untilScanned(t, 12);
    expect(receiver.requests).toEqual([]);
    expect(await deliveryOf(t, ids[0] as string)).toMatchObject({ status: 'pending', queued: true, attempts: 0 });
    await change(endpoint, 'paused_at = null, resume_rate_per_s = 10');
    await wake();
    await until(() => receiver.requests.length, 12);
    expect((receiver.requests.at(-1)?.atMs ?? 0) - (receiver.requests[0]?.atMs ?? 0)).toBeGreaterThan(900);
    await until(
      async () =>
        (await t.pool.query('select 1 from delivery_queue where endpoint_id = $1', [endpoint.id])).rows.length,
      0,
    );
    await checkFailingEndpoints(t.pool);
    const { rows } = await t.pool.query('select resume_rate_per_s from webhook_endpoints where id = $1', [endpoint.id]);
    expect(rows).toEqual([{ resume_rate_per_s: null }]);
  });
});

describe('an endpoint is disabled', () => {
  const disabledBy = (reason: string) => ({
    actor_kind: 'system',
    actor_label: 'dispatcher',
    action: 'update',
    resource_id: 'usp.selection',
    changes: { enabled: { old: true, new: false }, disabled_reason: { old: null, new: reason } },
  });
  async function auditOf({ publisherId }: TestEndpoint): Promise<unknown[]> {
    const columns = 'actor_kind, actor_label, action, resource_id, changes';
    const { rows } = await t.pool.query(
      `select ${columns} from audit_log
      where publisher_id = $1 and resource = 'webhook-endpoints' and actor_publisher_id = $1`,
      [publisherId],
    );
    return rows;
  }

  test('by a response header, while the accepted delivery counts and pending ones are held', async () => {
    const receiver = await hook((response) => void response.writeHead(200, { 'webhook-delivery': 'disable' }).end());
    const endpoint = await addEndpoint(t, receiver.url, { max_in_flight: 1 });
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) ids.push(await enqueueDelivery(t, endpoint));
    await work();
    await until(async () => (await deliveryOf(t, ids[2] as string)).status, 'held');
    expect((await deliveryOf(t, ids[0] as string)).status).toBe('delivered');
    const { rows } = await t.pool.query('select enabled, disabled_reason from webhook_endpoints where id = $1', [
      endpoint.id,
    ]);
    expect(rows).toEqual([{ enabled: false, disabled_reason: 'asked' }]);
    expect(await auditOf(endpoint)).toEqual([disabledBy('asked')]);
  });

  test('after five days and twenty failures without a success, with one warning after one day', async () => {
    const endpoint = await addEndpoint(t, 'http://127.0.0.1:9/');
    const failing = (days: number, failures: number) =>
      t.pool.query(
        `update endpoint_health
        set failures = $2, first_failure_at = now() - $3 * interval '1 day', last_failure_at = now()
        where endpoint_id = $1`,
        [endpoint.id, failures, days],
      );
    await failing(0.9, 40);
    expect(await checkFailingEndpoints(t.pool)).toEqual({ disabled: [], warned: [] });
    await failing(1.1, 40);
    expect(await checkFailingEndpoints(t.pool)).toEqual({ disabled: [], warned: [endpoint.id] });
    expect(await checkFailingEndpoints(t.pool)).toEqual({ disabled: [], warned: [] });
    await failing(4.9, 40);
    expect((await checkFailingEndpoints(t.pool)).disabled).toEqual([]);
    await failing(5.1, 19);
    expect((await checkFailingEndpoints(t.pool)).disabled).toEqual([]);
    await failing(5.1, 20);
    expect((await checkFailingEndpoints(t.pool)).disabled).toEqual([endpoint.id]);
    const { rows } = await t.pool.query('select enabled, disabled_reason from webhook_endpoints where id = $1', [
      endpoint.id,
    ]);
    expect(rows).toEqual([{ enabled: false, disabled_reason: 'failing' }]);
    expect(await auditOf(endpoint)).toEqual([disabledBy('failing')]);
    expect((await deliveryOf(t, await enqueueDelivery(t, endpoint))).status).toBe('held');
  });
});

describe('redeliveries', () => {
  test('are sent after all live deliveries', async () => {
    const order: string[] = [];
    const receiver = await hook((response, { headers }) => {
      order.push(headers['webhook-id'] as string);
      setTimeout(() => response.end(), 2);
    });
    const endpoint = await addEndpoint(t, receiver.url);
    const replayed = await Promise.all(Array.from({ length: 5 }, () => enqueueDelivery(t, endpoint)));
    await t.pool.query("update delivery_queue set lane = 'redelivery'");
    const live: string[] = [];
    for (let count = 0; count < 20; count++) live.push(await enqueueDelivery(t, endpoint));
    await work();
    await until(() => order.length, 25);
    const ids = (list: string[]) => list.map((id) => `msg_${id.replaceAll('-', '')}`);
    expect(new Set(order.slice(0, 20))).toEqual(new Set(ids(live)));
    expect(new Set(order.slice(20))).toEqual(new Set(ids(replayed)));
  });
});
