import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isConsistent, reconcileDeliveries } from '../../../src/webhooks/deliveries/reconciliation.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import {
  addEndpoint,
  enqueueDelivery,
  startHook,
  startTestDispatcher,
  until,
} from '../../webhooks/dispatcher/support.ts';

const token = 'metrics-token-'.repeat(3);
let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ config: { metricsToken: token } });
});
afterAll(() => t.close());

const scrape = (authorization?: string) =>
  t.app.inject({ url: '/metrics', ...(authorization !== undefined && { headers: { authorization } }) });

describe('GET /metrics', () => {
  test('needs the token: 401 without it, and with another', async () => {
    expect((await scrape()).statusCode).toBe(401);
    expect((await scrape(`Bearer ${token}x`)).statusCode).toBe(401);
    expect((await scrape(`Bearer ${t.publisher.key}`)).statusCode).toBe(401);
    const answer = await scrape(`Bearer ${token}`);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
  });

  test('is not there where no token is set', async () => {
    const other = await createTestApp({ databaseUrl: t.databaseUrl });
    expect((await other.app.inject({ url: '/metrics', headers: { authorization: 'Bearer ' } })).statusCode).toBe(404);
    await other.close();
  });

  test('shows webhooks, requests and the event loop, and names no URL, host or id', async () => {
    const hook = await startHook((response, _taken, count) => void response.writeHead(count === 1 ? 500 : 200).end());
    const dispatcher = await startTestDispatcher(t, { meter: t.deps.dispatcherMetrics?.meter as never });
    const endpoint = await addEndpoint(t, hook.url);
    await enqueueDelivery(t, endpoint);
    await enqueueDelivery(t, await addEndpoint(t, 'http://10.0.0.1/'));
    await until(
      async () => (await scrape(`Bearer ${token}`)).body.includes('perkwire_webhook_tries_total{class="blocked"} 1'),
      true,
    );
    await enqueueDelivery(t, endpoint);
    await until(
      async () => (await scrape(`Bearer ${token}`)).body.includes('perkwire_webhook_tries_total{class="delivered"} 1'),
      true,
    );
    const { body } = await scrape(`Bearer ${token}`);
    for (const line of [
      'perkwire_webhook_tries_total{class="status"} 1',
      'perkwire_webhook_lag_seconds_count 3',
      'perkwire_webhook_breakers{state="closed"}',
      'perkwire_webhook_queue{lane="live"}',
      'perkwire_webhook_unbalanced 0',
      'perkwire_webhook_calls_in_flight 0',
      'perkwire_http_request_seconds_count{route="/metrics",status="4xx"}',
      'nodejs_eventloop_lag_seconds',
    ])
      expect(body).toContain(line);
    expect(body).not.toContain(new URL(hook.url).host);
    expect(body).not.toContain('10.0.0.1');
    await dispatcher.stop();
    await hook.close();
  });
});

test('the balance finds a delivery that nobody would send, and one that would be sent again', async () => {
  const endpoint = await addEndpoint(t, 'http://127.0.0.1:9/');
  const ids = [await enqueueDelivery(t, endpoint), await enqueueDelivery(t, endpoint)];
  const before = await reconcileDeliveries(t.pool);
  expect(isConsistent(before)).toBe(true);
  expect(before.created).toBeGreaterThanOrEqual(2);
  await t.pool.query('delete from delivery_queue where delivery_id = $1', [ids[0]]);
  await t.pool.query("update deliveries set status = 'delivered' where id = $1", [ids[1]]);
  const after = await reconcileDeliveries(t.pool, { days: 2, nowMs: Date.now() });
  expect(after).toMatchObject({ lost: 1, stray: 1 });
  expect(isConsistent(after)).toBe(false);
});
