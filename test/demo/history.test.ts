import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeHistory } from '../../src/demo/write-history.ts';
import { dayMs, dayOf } from '../../src/platform/lib/time.ts';
import { verifyRollups } from '../../src/reports/verify.ts';
import { saveEndpoint } from '../../src/webhooks/endpoint-changes.ts';
import { signInAs } from '../dashboard/support.ts';
import { rollUpAll } from '../reports/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { call, fetchOffers, type ShownOffer } from '../tracking/journey.ts';

let t: TestApp;
let nowMs: number;
beforeAll(async () => {
  nowMs = Date.now();
  // The clock is frozen. Otherwise, a session could leave the last seven days between two requests.
  t = await createTestApp({ now: () => nowMs });
  await t.pool.query(
    "update campaigns set payout_kind = case when id % 2 = 0 then 'cpa' else 'cpc' end, payout_amount = 0.5",
  );
  await t.pool.query(
    `update campaigns set rules = '{"total_caps": [{"metric": "budget", "per": "lifetime", "limit": 1000000}]}'`,
  );
  await t.pool.query('update publishers set created_at = $1', [new Date(nowMs)]);
  const { pool, secretBox } = t.deps;
  const endpoint = { publisherId: t.publisher.id, event: 'usp.selection', method: 'POST', enabled: true } as const;
  await saveEndpoint(pool, secretBox, { ...endpoint, url: 'http://127.0.0.1:9/', nowMs });
  const headers = { authorization: `Bearer ${t.publisher.key}` };
  const url = '/manage/v1/offers/1/coupon-codes';
  await t.app.inject({ method: 'POST', url, headers, payload: { pattern: 'COFFEE-****-****', count: 400 } });
  await t.deps.catalog.refresh();
  await writeHistory(t.deps);
  await rollUpAll(t, nowMs);
});
afterAll(() => t.close());

const count = async (table: string, condition = 'true'): Promise<number> =>
  (await t.pool.query(`select count(*)::int as n from ${table} where ${condition}`)).rows[0].n;

test('the generated history covers every day of six weeks, is marked, and matches the reports', async () => {
  const days = Array.from({ length: 42 }, (_, back) => dayOf(nowMs - dayMs / 24 - (back + 0.5) * dayMs));
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
  const { differences } = await verifyRollups(client, dayOf(nowMs - 44 * dayMs), dayOf(nowMs)).finally(() =>
    client.release(),
  );
  expect(differences).toEqual([]);
});

test('users get their coupon codes when they confirm their perks, and not all at the same time', async () => {
  const { rows } = await t.pool.query<{ codes: number; times: number; late: number }>(
    `select count(*)::int as codes, count(distinct c.given_at)::int as times,
      count(*) filter (where c.given_at <> u.wrapped_at)::int as late
    from coupons c join usp_sessions u on u.session_id = c.session_id`,
  );
  expect(rows[0]?.codes).toBeGreaterThan(10);
  expect(rows[0]).toMatchObject({ times: rows[0]?.codes, late: 0 });
});

test('budgets have spent what the history has earned', async () => {
  const { rows } = await t.pool.query<{ campaign_id: number; spent: string; earned: string }>(
    `select u.campaign_id, u.spent_micros as spent,
      (select coalesce(sum(revenue_micros), 0) from events where campaign_id = u.campaign_id)
      + (select coalesce(sum(payout_micros), 0) from conversions where campaign_id = u.campaign_id) as earned
    from campaign_usage u where period = 'lifetime'`,
  );
  expect(rows.length).toBeGreaterThan(1);
  for (const { campaign_id, spent, earned } of rows) expect(spent, `campaign ${campaign_id}`).toBe(earned);
  expect(rows.some(({ spent }) => Number(spent) > 0)).toBe(true);
});

test('the campaign form estimates its reach from the history', async () => {
  const manager = await signInAs(t, 'manager');
  const { body } = await manager.post(`/dashboard/p/${t.publisher.id}/campaigns/estimate`, {
    'rules.targeting.countries.include': 'GB',
  });
  const [, eligible = '', all = ''] = /<strong>([\d,]+)<\/strong> of ([\d,]+)\s+sessions/.exec(body) ?? [];
  expect(Number(eligible), body).toBeGreaterThan(0);
  expect(Number(all.replace(',', ''))).toBe(
    await count('sessions', `created_at >= to_timestamp(${nowMs / 1000 - 7 * 86_400})`),
  );
});

test('the history is written once, and never if there are real sessions', async () => {
  const before = await count('sessions');
  await writeHistory(t.deps);
  expect(await count('sessions')).toBe(before);
});

test('the first steps are checked off as they happen, whatever the history contains', async () => {
  const user = await signInAs(t, 'analyst');
  const done = async (): Promise<string[]> => {
    const { body } = await user.get(`/dashboard/p/${t.publisher.id}/setup`, { 'hx-request': 'true' });
    return [...body.matchAll(/Done:<\/span><\/span>\s*<div>\s*<strong>([^<]*)/g)].map(([, text = '']) => text);
  };
  const access = 'Create an API key, or use the SDK ID';
  const built = ['Add an advertiser', 'Add a campaign', 'Add the first offer', access, 'Choose a theme'];
  expect(await done()).toEqual([...built, 'Turn on perks', 'Add a webhook endpoint']);
  const { offers } = await fetchOffers(t, { pub_user_id: 'first' });
  const [offer] = offers as [ShownOffer];
  await call(t, offer.pixel);
  await rollUpAll(t, t.deps.now());
  expect(await done()).toEqual([...built, 'Fetch offers', 'Show an offer', 'Turn on perks', 'Add a webhook endpoint']);
  const overview = await user.get(`/dashboard/p/${t.publisher.id}/overview`);
  expect(overview.body).toContain('First steps');
});

test('the perk funnel counts sessions up to the delivered webhook, for any filter that rollups support', async () => {
  const user = await signInAs(t, 'analyst');
  const funnel = async (query: string): Promise<number[]> => {
    const { body } = await user.get(`/dashboard/p/${t.publisher.id}/reports/funnel?range=90d${query}`);
    const rows = body.slice(body.indexOf('<tbody>')).split('<tr>').slice(1);
    return rows.map((row) => Number(/class="numeric">(?:<a[^>]*>)?([\d,]+)</.exec(row)?.[1]?.replace(',', '')));
  };
  const [sessions = 0, shown = 0, selected = 0, confirmed = 0, delivered = 0] = await funnel('');
  const countOf = `cardinality(selected) > 0 and session_id in (select id from sessions where not dev)`;
  expect(selected).toBe(await count('usp_sessions', countOf));
  expect(confirmed).toBe(await count('usp_sessions', `${countOf} and wrapped_at is not null`));
  expect([sessions > shown, shown > selected, delivered]).toEqual([true, true, confirmed]);
  const { sessionId, offers } = await fetchOffers(t, { pub_user_id: 'picks', country: 'DE' });
  const [{ campaign_id: campaign, id: offer }, other] = offers as [ShownOffer, ShownOffer];
  const of = async () => ({
    all: await funnel(''),
    offer: await funnel(`&offer=${offer}&country=DE`),
    other: await funnel(`&offer=${other.id}&country=DE`),
    elsewhere: await funnel('&placement=nowhere'),
  });
  const before = await of();
  expect(before.elsewhere).toEqual([0, 0, 0, 0, 0]);
  const usp = (path: string, body: object) =>
    t.app.inject({ method: 'POST', url: `/sdk/v4/usp/${path}?api_key=${t.publisher.key}`, payload: body });
  expect((await usp(`${sessionId}/${campaign}/select.json`, {})).statusCode).toBe(200);
  await rollUpAll(t, t.deps.now());
  const plus = (counts: number[], added: number[]) => counts.map((value, at) => value + (added[at] ?? 0));
  const picked = await of();
  expect(picked.all).toEqual(plus(before.all, [1, 1, 1, 0, 0]));
  expect(picked.offer).toEqual(plus(before.offer, [1, 1, 1, 0, 0]));
  expect(picked.other).toEqual(plus(before.other, [1, 1, 0, 0, 0]));
  await usp(`session/${sessionId}.json`, { action: 'wrap' });
  expect((await of()).all).toEqual(plus(picked.all, [0, 0, 0, 1, 0]));
  await t.pool.query("update deliveries set status = 'delivered' where session_id = $1", [sessionId]);
  expect((await of()).offer).toEqual(plus(picked.offer, [0, 0, 0, 1, 1]));
});
