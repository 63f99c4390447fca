import { Registry } from 'prom-client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { transaction } from '../../../src/platform/db/pool.ts';
import { dayMs, dayOf } from '../../../src/platform/lib/time.ts';
import { mergeCounts } from '../../../src/webhooks/deliveries/counts.ts';
import { isConsistent, reconcileDeliveries } from '../../../src/webhooks/deliveries/reconciliation.ts';
import { registerWebhookGauges } from '../../../src/webhooks/metrics.ts';
import { redeliverOne } from '../../../src/webhooks/redelivery/requeue.ts';
import { eraseNext } from '../../privacy/support.ts';
import { untilWaiting } from '../../support/locks.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import { startHook, startTestDispatcher, until } from '../dispatcher/support.ts';
import { addManager, type Manager } from '../endpoints/manager.ts';

type Counts = { created: number; delivered: number; failed: number; held: number; pending: number; balanced: boolean };

let t: WebhooksApp;
let manager: Manager;
beforeAll(async () => {
  t = await createWebhooksApp();
});
afterAll(() => t.close());
beforeEach(async () => {
  await t.pool.query('truncate deliveries, delivery_queue, delivery_attempts, delivery_counts, delivery_count_changes');
  manager = await addManager(t);
});

async function balance(
  query = '',
  who = manager,
): Promise<Counts & { from: string; to: string; days: (Counts & { day: string })[] }> {
  const answer = await who.call('GET', `/deliveries/balance${query}`);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json().data;
}
/** Returns the metrics about undelivered deliveries of all publishers from a scrape. */
async function gauges(): Promise<Record<string, number>> {
  const registry = new Registry();
  registerWebhookGauges(registry, t.pool, Date.now);
  const page = await registry.metrics();
  const lines = page.matchAll(/^perkwire_webhook_(?:queue|deliveries_in_trouble)\{\w+="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...lines].map(([, state, count]) => [state, Number(count)]));
}
const nothing = { created: 0, delivered: 0, failed: 0, held: 0, pending: 0, balanced: true };

describe('GET /manage/v1/deliveries/balance', () => {
  test("agrees after a user's erasure prevents a redelivery", async () => {
    await manager.endpoint('http://127.0.0.1:9/');
    const id = await manager.enqueueDelivery({ pubUserId: 'overtaken' });
    await t.pool.query('delete from delivery_queue');
    await t.pool.query("update deliveries set status = 'failed', finished_at = now()");
    await t.pool.query('select recount_deliveries()');
    await manager.call('POST', '/privacy/erasure', { pub_user_id: 'overtaken' });
    let erasure: Promise<boolean> | undefined;
    await transaction(t.pool, async (executor) => {
      await redeliverOne(executor, manager.id, id, Date.now());
      erasure = eraseNext(t);
      await untilWaiting(t.pool, 1);
    });
    expect(await erasure).toBe(true);
    expect((await t.pool.query('select from delivery_queue')).rowCount).toBe(0);
    expect(await balance()).toMatchObject({ created: 1, failed: 1, pending: 0, balanced: true });
  });

  test('counts every delivery in one state: delivered, failed, held, redelivered or erased', async () => {
    const hook = await startHook(
      (response, { body }) => void response.writeHead(body.includes('bad') ? 500 : 200).end(),
    );
    await manager.endpoint(hook.url, { retry_steps_s: [0] });
    const dispatcher = await startTestDispatcher(t);
    const good = await manager.enqueueDelivery();
    const bad = await manager.enqueueDelivery({ payload: Buffer.from('{"bad":1}') });
    await until(async () => (await balance()).pending, 0);
    expect(await balance()).toMatchObject({ created: 2, delivered: 1, failed: 1, held: 0, pending: 0, balanced: true });
    await manager.call('POST', '/webhook-endpoints/usp.selection/pause');
    await manager.call('POST', `/deliveries/${bad}/replay`);
    await manager.call('POST', `/deliveries/${good}/replay`);
    await manager.enqueueDelivery({ pubUserId: 'user-1' });
    expect(await balance()).toMatchObject({ created: 3, delivered: 0, failed: 0, pending: 3, balanced: true });
    await expect.poll(gauges).toEqual({ live: 1, replay: 2, failed: 0, held: 0 });
    await manager.call('POST', '/webhook-endpoints/usp.selection/disable');
    await until(async () => (await balance()).held, 3);
    await manager.enqueueDelivery({ pubUserId: 'user-1' });
    expect(await balance()).toMatchObject({ created: 4, delivered: 0, failed: 0, held: 4, pending: 0, balanced: true });
    expect((await manager.call('POST', '/privacy/erasure', { pub_user_id: 'user-1' })).statusCode).toBe(202);
    while (await eraseNext(t));
    expect(await balance()).toMatchObject({ created: 4, held: 2, failed: 2, balanced: true });
    await expect.poll(gauges).toEqual({ live: 0, replay: 0, failed: 2, held: 2 });
    expect(isConsistent(await reconcileDeliveries(t.pool))).toBe(true);
    await dispatcher.stop();
    await hook.close();
  });

  test('is reconciled at every moment while deliveries are created and sent', async () => {
    const hook = await startHook();
    await manager.endpoint(hook.url);
    const dispatcher = await startTestDispatcher(t);
    const promises = Promise.all(Array.from({ length: 200 }, () => manager.enqueueDelivery()));
    for (let polls = 0; hook.requests.length < 200 || polls < 20; polls += 1) {
      const { balanced, ...counts } = await balance();
      expect(balanced, JSON.stringify(counts)).toBe(true);
    }
    await promises;
    await until(async () => (await balance()).delivered, 200);
    await dispatcher.stop();
    await hook.close();
  });

  test('reports a delivery that is lost or in two states', async () => {
    await manager.endpoint('http://127.0.0.1:9/');
    const [lost, other] = [await manager.enqueueDelivery(), await manager.enqueueDelivery()];
    expect(await balance()).toMatchObject({ created: 2, pending: 2, balanced: true });
    await t.pool.query('delete from delivery_queue where delivery_id = $1', [lost]);
    const counts = await balance();
    expect(counts).toMatchObject({ created: 2, pending: 1, balanced: false });
    expect(counts.days.at(-1)).toMatchObject({ balanced: false });
    await t.pool.query(
      `insert into delivery_queue (delivery_id, day, endpoint_id, due_at)
      select id, day - 1, endpoint_id, now() from deliveries where id = $1`,
      [lost],
    );
    // The totals agree, although two days are wrong.
    expect(await balance()).toMatchObject({ created: 2, pending: 2, balanced: false });
    await t.pool.query('delete from deliveries where id = $1', [other]);
    expect(await reconcileDeliveries(t.pool)).toMatchObject({ created: 1, miscounted: 1 });
  });

  test('counts a delivery on its creation day, for the requested days or the last seven', async () => {
    await t.pool.query("select create_day_partitions((now() - interval '9 days')::date, now()::date)");
    await manager.endpoint('http://127.0.0.1:9/');
    const nowMs = Date.now();
    for (const daysAgo of [0, 0, 1, 8]) await manager.enqueueDelivery({ nowMs: nowMs - daysAgo * dayMs });
    const week = await balance();
    expect(week).toMatchObject({ from: dayOf(nowMs - 6 * dayMs), to: dayOf(nowMs), created: 3 });
    expect(week.days.map(({ created }) => created)).toEqual([0, 0, 0, 0, 0, 1, 2]);
    const day = dayOf(nowMs - 8 * dayMs);
    expect(await balance(`?from=${day}&to=${day}`)).toEqual({
      from: day,
      to: day,
      ...nothing,
      created: 1,
      pending: 1,
      days: [{ day, ...nothing, created: 1, pending: 1 }],
    });
  });

  test('is the same after concurrent merges of the counts and after a recount', async () => {
    await manager.endpoint('http://127.0.0.1:9/');
    for (let count = 0; count < 5; count++) await manager.enqueueDelivery();
    const before = await balance();
    await Promise.all([mergeCounts(t.pool), mergeCounts(t.pool)]);
    expect((await t.pool.query('select from delivery_count_changes')).rowCount).toBe(0);
    expect(await balance()).toEqual(before);
    await manager.enqueueDelivery();
    await t.pool.query('update delivery_counts set created = 99; select recount_deliveries()');
    expect(await balance()).toMatchObject({ created: 6, pending: 6, balanced: true });
    expect(isConsistent(await reconcileDeliveries(t.pool))).toBe(true);
  });

  test.each([
    'from=yesterday',
    'from=2026-02-30',
    'from=2026-11-21&to=2026-11-20',
    'from=2020-01-01&to=2026-11-20',
    'days=3',
    'from=%00',
    'from=2026-11-21&from=2026-11-22',
  ])('400 for %s', async (query) => {
    expect((await manager.call('GET', `/deliveries/balance?${query}`)).statusCode).toBe(400);
  });

  test('shows nothing of another publisher', async () => {
    await manager.endpoint('http://127.0.0.1:9/');
    await manager.enqueueDelivery();
    const other = await addManager(t);
    expect(await balance('', other)).toMatchObject(nothing);
    expect((await other.call('GET', `/deliveries/balance?publisher_id=${manager.id}`)).statusCode).toBe(404);
  });
});
