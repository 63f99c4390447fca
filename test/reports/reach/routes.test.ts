import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashKey } from '../../../src/platform/http/auth.ts';
import { dayMs, dayOf } from '../../../src/platform/lib/time.ts';
import { compactReach } from '../../../src/reports/reach/compact.ts';
import { signInAs, type TestUser } from '../../dashboard/support.ts';
import { readCsv } from '../../support/read-csv.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { rollUpAll } from '../support.ts';
import { impression, storeImpressions } from './support.ts';

let t: TestApp;
let analyst: TestUser;
const noonMs = Math.floor(Date.now() / dayMs) * dayMs - dayMs / 2;
const [dayBefore, yesterday] = [dayOf(noonMs - dayMs), dayOf(noonMs)];

beforeAll(async () => {
  t = await createTestApp();
  await t.pool.query("update publishers set time_zone = 'UTC', reporting_currency = 'EUR' where id = $1", [
    t.publisher.id,
  ]);
  await t.pool.query("insert into publishers (name, sdk_id) values ('Other', 'ffffffffffffffff')");
  for (const [key, owner] of [
    ['reports', 'id = $2'],
    ['other', "name = 'Other' and id <> $2"],
  ])
    await t.pool.query(
      `insert into api_keys (publisher_id, name, key_hash, permissions)
      select id, 'k', decode($1, 'hex'), '{reports}' from publishers where ${owner}`,
      [hashKey(key as string), t.publisher.id],
    );
  await t.deps.catalog.refresh();
  const [ann, bob, eve] = [randomUUID(), randomUUID(), randomUUID()];
  const { rows: offers } = await t.pool.query<{ id: number; campaign_id: number }>(
    'select min(id) as id, campaign_id from offers group by campaign_id order by campaign_id limit 2',
  );
  const [first, second] = offers.map(({ id, campaign_id }) => ({ offerId: id, campaignId: campaign_id }));
  await storeImpressions(t.pool, t.publisher.id, [
    impression({ ...first, atMs: noonMs, userKey: ann, placement: 'cart' }),
    impression({ ...first, atMs: noonMs - dayMs, userKey: ann }),
    impression({ ...second, atMs: noonMs - dayMs, userKey: ann }),
    impression({ ...first, atMs: noonMs, userKey: bob }),
    impression({ ...second, atMs: noonMs, userKey: eve, plan: 'free' }),
    impression({ ...second, atMs: noonMs, userKey: null }),
  ]);
  campaigns = [first?.campaignId ?? 0, second?.campaignId ?? 0];
  await rollUpAll(t);
  await compactReach(t.pool);
  analyst = await signInAs(t, 'analyst');
});
afterAll(() => t?.close());

let campaigns: [number, number];

const ask = (path: string, parameters: Record<string, string> = {}, key = 'reports') =>
  t.app.inject({
    url: `${path}?${new URLSearchParams({ from: dayBefore, to: yesterday, ...parameters })}`,
    headers: { authorization: `Bearer ${key}` },
  });
const activity = (parameters: Record<string, string>) => ask('/native/activity.json', parameters);

test('rows count users by day and dimension, and the totals count each user once', async () => {
  const { data } = (await activity({ group_by: 'campaign', metrics: 'reach,frequency' })).json();
  const rows = data.rows.map((row: Record<string, unknown>) => [row.date, row.campaign, row.reach, row.frequency]);
  expect(rows).toEqual([
    [dayBefore, campaigns[0], 1, 1],
    [dayBefore, campaigns[1], 1, 1],
    [yesterday, campaigns[0], 2, 1],
    [yesterday, campaigns[1], 1, 1],
  ]);
  expect(data.totals).toMatchObject({ impressions: 6, reach: 3, frequency: 1.666667, unknown_impressions: 1 });
  const weeks = (await activity({ aggregated_by: 'month', metrics: 'reach' })).json().data;
  expect(weeks.rows.map(({ reach }: { reach: number }) => reach).at(-1)).toBeGreaterThanOrEqual(
    3 - weeks.rows.length + 1,
  );
});

test('without `metrics`, reports have the same columns as before', async () => {
  const { data } = (await activity({})).json();
  expect([...Object.keys(data.totals), ...Object.keys(data.rows[0])]).not.toContain('reach');
  expect((await activity({ format: 'csv' })).body.split('\r\n')[0]).not.toContain('reach');
  const [head, ...lines] = readCsv((await activity({ format: 'csv', metrics: 'reach' })).body);
  expect(head?.slice(-4)).toEqual(['reach', 'frequency', 'unknown_impressions', 'currency']);
  expect(lines.map((line) => line.slice(-4, -1))).toEqual([
    ['1', '2', '0'],
    ['3', '1', '1'],
  ]);
});

test('attributes and hours are counted from raw rows, and other users are refused with a reason', async () => {
  expect((await activity({ plan: 'gold', metrics: 'reach' })).json().data.totals.reach).toBe(2);
  const byHour = (await activity({ aggregated_by: 'hour', metrics: 'reach' })).json().data;
  expect(byHour.rows.map(({ reach }: { reach: number }) => reach)).toEqual([1, 3]);
  const byPlan = await activity({ group_by: 'custom.plan', metrics: 'reach' });
  expect([byPlan.statusCode, byPlan.json().error.details[0].path]).toEqual([400, '/metrics']);
  const unknown = await activity({ metrics: 'reach,people' });
  expect([unknown.statusCode, unknown.json().error.details[0].message]).toEqual([400, '"people" is not a metric.']);
  expect((await ask('/manage/v1/reports/reach/frequency', { plan: 'gold' })).json().data.reach).toBe(2);
  const long = await ask('/manage/v1/reports/reach/frequency', { plan: 'gold', from: dayOf(noonMs - 120 * dayMs) });
  expect([long.statusCode, long.json().error.details[0].path]).toEqual([400, '/from']);
  expect(long.json().error.details[0].message).toContain(`only from ${dayOf(Date.now() - 88 * dayMs)} on`);
});

test('the frequency distribution counts users by their number of impressions', async () => {
  const { data } = (await ask('/manage/v1/reports/reach/frequency')).json();
  expect(data).toMatchObject({ reach: 3, exact: true, impressions: 5, unknown_impressions: 1, frequency: 1.666667 });
  expect(data.distribution.map(({ users }: { users: number }) => users)).toEqual([2, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
  const inCart = (await ask('/manage/v1/reports/reach/frequency', { placement: 'cart' })).json().data;
  expect([inCart.reach, inCart.distribution[0].users]).toEqual([1, 1]);
});

test('the overlap counts users of both campaigns', async () => {
  const { data } = (await ask('/manage/v1/reports/reach/overlap')).json();
  expect(data.campaigns).toEqual(campaigns.map((id) => ({ campaign_id: id, reach: 2, exact: true })));
  expect(data.pairs).toEqual([{ campaign_ids: campaigns, users: 1, margin: 0 }]);
  expect((await ask('/manage/v1/reports/reach/overlap', { limit: '21' })).statusCode).toBe(400);
});

test('a publisher sees only its own users', async () => {
  for (const path of ['frequency', 'overlap']) {
    const url = `/manage/v1/reports/reach/${path}`;
    expect(JSON.stringify((await ask(url, {}, 'other')).json().data)).not.toMatch(/"(reach|users)":[1-9]/);
    expect((await ask(url, { publisher_id: String(t.publisher.id) }, 'other')).statusCode).toBe(404);
    expect((await ask(url, {}, 'nobody')).statusCode).toBe(401);
  }
});

const get = async (path: string): Promise<string> =>
  (await analyst.get(`/dashboard/p/${t.publisher.id}${path}`)).body.replaceAll(/\s+/g, ' ');
const range = (query: string): string => `from=${dayBefore}&to=${yesterday}&compare=none&${query}`;

test('the explorer shows users for any grouping, with a total that is not their sum and without rows', async () => {
  const metrics = 'metrics=impressions,reach,frequency&metric=reach';
  for (const by of ['campaign', 'placement', 'advertiser', 'time']) {
    const body = await get(`/reports?${range(`by=${by}&${metrics}`)}`);
    expect(body, by).toMatch(/id="metric-reach".*?<strong>3<\/strong>/);
    expect(body, by).toMatch(/id="metric-frequency".*?<strong>1\.67<\/strong>/);
    expect(body, by).not.toMatch(/metrics=reach[^"]*" title="Show the rows/);
    expect(body, by).toContain('The number of users is exact. 1 impression without a user ID is not included.');
  }
  const csv = readCsv(
    (await analyst.get(`/dashboard/p/${t.publisher.id}/reports.csv?${range(`by=campaign&${metrics}`)}`)).body,
  );
  expect(csv.slice(1).map((line) => line.slice(-2))).toEqual([
    ['2', '1.5'],
    ['2', '1'],
  ]);
  expect(await get(`/reports?${range(`by=custom.plan&${metrics}`)}`)).toContain(
    'Reach is not available by custom attribute.',
  );
});

test('the card shows the distribution and the overlap, also on the page of a campaign', async () => {
  const body = await get(`/reports/reach?${range('metrics=reach')}`);
  expect(body).toContain('Campaign overlap');
  expect(body).toMatch(/<td[^>]*>1<\/td> *<td[^>]*>2<\/td> *<td[^>]*>66\.67%/);
  const page = await get(`/campaigns/${campaigns[0]}`);
  const [, src = ''] = /hx-get="[^"]*(\/reports\/reach[^"]*)"/.exec(page) ?? [];
  expect(src).toContain(`campaign=${campaigns[0]}`);
  expect(await get(src.replaceAll('&amp;', '&'))).toContain('Other campaigns seen by users of');
});

test('before sketches existed, the card counts raw rows, and says from which day users are available', async () => {
  const before = await get(`/reports/reach?${range('metrics=reach')}`);
  expect(before).not.toContain('Unique users are available from');
  await t.pool.query('update rollup_progress set reach_from = $1', [new Date(noonMs)]);
  const card = await get(`/reports/reach?${range('metrics=reach')}`);
  expect(card).toContain('Unique users are available from');
  const withoutNote = card.replace(/<p class="hint">Unique users are available from.*?<\/p>/, '');
  expect(withoutNote.replaceAll(' ', '')).toBe(before.replaceAll(' ', ''));
  expect((await ask('/manage/v1/reports/reach/overlap')).json().data.pairs[0].users).toBe(1);
  expect(await get(`/reports?${range('metrics=reach&metric=reach')}`)).toContain(
    'This table contains reach only for ranges that start on',
  );
  const long = `from=${dayOf(noonMs - 200 * dayMs)}&to=${yesterday}&compare=none&metrics=reach`;
  const tooLong = await get(`/reports/reach?${long}`);
  expect(tooLong).toContain('Unique users are available from');
  expect(tooLong).not.toContain('class="stats"');
});
