import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkCoupons } from '../../src/alerts/checks.ts';
import { markStock } from '../../src/coupons/pools.ts';
import { dayMs } from '../../src/platform/lib/time.ts';
import { couponCalls } from '../coupons/support.ts';
import { signInAs } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t?.close());

const add = async (offerId: number, count: number): Promise<void> => {
  const codes = Array.from({ length: count }, () => randomUUID());
  expect((await couponCalls(t).add(offerId, { codes })).status).toBe(201);
};
const issueCodes = async (offerId: number, count: number): Promise<void> => {
  const text = 'update coupon_stock set next_position = next_position + $2, given = given + $2 where offer_id = $1';
  await t.pool.query(text, [offerId, count]);
  await markStock(t.pool, offerId, Date.now());
};
/**
 * Checks the coupon stock twice. Returns the alerts of an offer with the number of codes left, and `over` if the alert
 * has ended.
 */
const alertsOf = async (offerId: number, nowMs = Date.now()): Promise<string[]> => {
  for (const _ of [1, 2]) await checkCoupons({ ...t.deps, now: () => nowMs });
  const { rows } = await t.pool.query<{ kind: string; left: number; over: boolean }>(
    `select kind, data -> 'left' as left, ended_at is not null as over from alerts
    where kind like 'coupons.%' and subject = $1 order by id`,
    [String(offerId)],
  );
  return rows.map(({ kind, left: codesLeft, over }) => `${kind} ${codesLeft}${over ? ' over' : ''}`);
};

test('alerts once for low coupon stock and once for an offer without codes', async () => {
  await add(1, 10);
  expect(await alertsOf(1)).toEqual([]);
  await issueCodes(1, 9);
  expect(await alertsOf(1)).toEqual(['coupons.low 1']);
  await issueCodes(1, 1);
  expect(await alertsOf(1)).toEqual(['coupons.low 1 over', 'coupons.empty 0']);
  await add(1, 1);
  expect(await alertsOf(1)).toEqual(['coupons.low 1 over', 'coupons.empty 0 over', 'coupons.low 1']);
  const manager = await signInAs(t, 'manager');
  const inbox = (await manager.get(`/dashboard/p/${t.publisher.id}/alerts`)).body;
  expect(inbox).toContain('Coupon codes running low:');
  expect(inbox).toContain('The offer is paused until you add codes.');
});

test('does not repeat the alert if a refill leaves stock low, but alerts again if stock runs low later', async () => {
  await add(2, 100);
  await issueCodes(2, 99);
  expect(await alertsOf(2)).toEqual(['coupons.low 1']);
  await add(2, 1);
  expect(await alertsOf(2)).toEqual(['coupons.low 1']);
  await add(2, 100);
  expect(await alertsOf(2)).toEqual(['coupons.low 1 over']);
  await issueCodes(2, 100);
  expect(await alertsOf(2)).toEqual(['coupons.low 1 over', 'coupons.low 2']);
});

test('alerts on low stock even if the number of codes has not changed', async () => {
  await add(3, 10);
  await issueCodes(3, 9);
  expect(await alertsOf(3)).toEqual(['coupons.low 1']);
  await couponCalls(t).removeCodes(3);
  expect(await alertsOf(3)).toEqual(['coupons.low 1 over', 'coupons.empty 0']);
  await add(3, 1);
  expect(await alertsOf(3)).toEqual(['coupons.low 1 over', 'coupons.empty 0 over', 'coupons.low 1']);
});

test("alerts once on stock that is low at today's rate, even if a new day's rate is unknown", async () => {
  const noonMs = Math.floor(Date.now() / dayMs) * dayMs + dayMs / 2;
  await add(4, 100);
  await t.pool.query('update coupon_pools set low_hours = 24 where offer_id = 4');
  await issueCodes(4, 60);
  await t.pool.query('update coupon_stock set given_before = 0, day = $1::date where offer_id = 4', [new Date(noonMs)]);
  expect(await alertsOf(4, noonMs)).toEqual(['coupons.low 40']);
  expect(await alertsOf(4, noonMs + dayMs / 2)).toEqual(['coupons.low 40']);
  expect(await alertsOf(4, noonMs)).toEqual(['coupons.low 40']);
});
