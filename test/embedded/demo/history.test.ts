import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeHistory } from '../../../src/embedded/demo/history/write-history.ts';
import { dayMs, dayOf } from '../../../src/platform/lib/time.ts';
import { verifyRollups } from '../../../src/reports/reconcile/verify.ts';
import { saveEndpoint } from '../../../src/webhooks/endpoints/changes.ts';
import { signInAs } from '../../dashboard/support.ts';
import { rollUpAll } from '../../reports/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { call, fetchOffers, type ShownOffer } from '../../tracking/journey.ts';

let t: TestApp;
let nowMs: number;
beforeAll(async () => {
  t = await createTestApp();
  nowMs = t.deps.now();
  await t.pool.query(
    "update campaigns set payout_kind = case when id % 2 = 0 then 'cpa' else 'cpc' end, payout_amount = 0.5",
  );
  await t.pool.query('update api_keys set created_at = $1', [new Date(nowMs)]);
  const { pool, secretBox } = t.deps;
  const endpoint = { publisherId: t.publisher.id, event: 'usp.selection', method: 'POST', enabled: true } as const;
  await saveEndpoint(pool, secretBox, { ...endpoint, url: 'http://127.0.0.1:9/', nowMs });
  await t.deps.catalog.refresh();
  await writeHistory(t.deps);
  await rollUpAll(t, nowMs);
});
afterAll(() => t.close());

const count = async (table: string, condition = 'true'): Promise<number> =>
  (await t.pool.query(`select count(*)::int as n from ${table} where ${condition}`)).rows[0].n;

test('the made-up history fills every day of two weeks, marked, and reports agree with its rows', async () => {
  const days = Array.from({ length: 14 }, (_, back) => dayOf(nowMs - dayMs / 24 - (back + 0.5) * dayMs));
  const { rows } = await t.pool.query<{ day: string; n: number }>(
    'select day::text, count(*)::int as n from sessions group by day',
  );
  for (const day of days.slice(1, -1)) expect(rows.find((row) => row.day === day)?.n ?? 0).toBeGreaterThan(50);
  expect(await count('sessions', `custom ->> 'demo_history' is distinct from 'made-up'`)).toBe(0);
  for (const kind of ['impression', 'click', 'no_thanks', 'close', 'selection'])
    expect(await count('events', `kind = '${kind}'`), kind).toBeGreaterThan(10);
  expect(await count('bookings')).toBeGreaterThan(0);
  expect(await count('deliveries', "status = 'delivered' and attempts > 0")).toBe(await count('deliveries'));
  expect(await count('deliveries')).toBe(await count('usp_sessions'));
  expect(await count('deliveries')).toBeGreaterThan(50);
  expect(await count('delivery_queue')).toBe(0);
  const client = await t.pool.connect();
  const { differences } = await verifyRollups(client, dayOf(nowMs - 16 * dayMs), dayOf(nowMs)).finally(() =>
    client.release(),
  );
  expect(differences).toEqual([]);
});

test('is written once, and never beside real sessions', async () => {
  const before = await count('sessions');
  await writeHistory(t.deps);
  expect(await count('sessions')).toBe(before);
});

test('the first steps tick themselves as they happen, whatever the history holds', async () => {
  const user = await signInAs(t, 'analyst');
  const done = async (): Promise<string[]> => {
    const { body } = await user.get(`/dashboard/p/${t.publisher.id}/setup`, { 'hx-request': 'true' });
    return [...body.matchAll(/Done:<\/span><\/span>\s*<div>\s*<strong>([^<]*)/g)].map(([, text = '']) => text);
  };
  expect(await done()).toEqual(['Create an API key', 'Set a webhook endpoint']);
  const { offers } = await fetchOffers(t, { pub_user_id: 'first' });
  const [offer] = offers as [ShownOffer];
  await call(t, offer.pixel);
  await rollUpAll(t, t.deps.now());
  expect(await done()).toEqual(['Create an API key', 'Fetch offers', 'Show an offer', 'Set a webhook endpoint']);
  const overview = await user.get(`/dashboard/p/${t.publisher.id}/overview`);
  expect(overview.body).toContain('First steps');
});
