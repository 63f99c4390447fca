import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkMetrics, checkPlacements } from '../../src/alerts/checks.ts';
import { dayMs, dayOf, hourMs } from '../../src/platform/lib/time.ts';
import { openAs, signInAs } from '../dashboard/support.ts';
import { addSums, type HourFact } from '../reports/support.ts';
import { violations } from '../support/axe.ts';
import { closeContexts, openBrowser } from '../support/browser.ts';
import { portOf } from '../support/request.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let browser: Browser;
const nowMs = Math.floor(Date.now() / hourMs) * hourMs + 20 * 60_000;

/** Activity that began this many hours before the current hour. */
const hour = (back: number, fact: Partial<HourFact>): HourFact => ({
  at: new Date(nowMs - back * hourMs),
  placement: 'metric-test',
  offerId: 1,
  ...fact,
});

const usual = { sessions: 50, filled_sessions: 40, impressions: 40, clicks: 8, revenue_micros: 2_000_000 };
/** Hours in which fewer offers were shown: four of them just now, and six of them ten days ago. */
const poorHours: readonly number[] = [1, 2, 3, 4, 240, 241, 242, 243, 244, 245];

beforeAll(async () => {
  t = await createTestApp({ scripts: true, now: () => nowMs });
  browser = await openBrowser();
  const hours = Array.from({ length: 38 * 24 }, (_, back) => back + 1);
  await t.pool.query('select create_report_partitions($1, $2)', [dayOf(nowMs - 40 * dayMs), dayOf(nowMs)]);
  await addSums(
    t,
    hours.map((back) => hour(back, poorHours.includes(back) ? { ...usual, filled_sessions: 10, clicks: 1 } : usual)),
  );
  await t.pool.query('update rollup_progress set rolled_up_at = $1', [new Date(nowMs)]);
});
afterAll(async () => {
  await closeContexts(browser);
  await t?.close();
});

const call = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, payload?: object) => {
  const headers = { authorization: `Bearer ${t.publisher.key}` };
  const answer = await t.app.inject({ method, url: `/manage/v1${path}`, headers, ...(payload && { payload }) });
  return { status: answer.statusCode, body: answer.body === '' ? null : answer.json() };
};

const fillRate = { metric: 'fill_rate', placement: 'metric-test', comparison: 'drop', threshold: 60, window_hours: 3 };

const check = (atMs = nowMs) => checkMetrics({ pool: t.pool, now: () => atMs });

const alertsOf = async (id: number) =>
  (
    await t.pool.query(
      `select (data ->> 'value')::float8 as value, ended_at is not null as over from alerts
      where kind = 'metric.threshold' and subject = $1 order by id`,
      [String(id)],
    )
  ).rows;

test('a preview counts the alerts that a condition would have caused in 30 days, and stores nothing', async () => {
  const { status, body } = await call('POST', '/metric-alerts/preview', fillRate);
  expect([status, body.message]).toEqual([200, 'Condition measured.']);
  const { times, firings, latest } = body.data;
  // All three hours must be poor: two times now, and four times ten days ago.
  expect([times, firings.map(({ hours }: { hours: number }) => hours)]).toEqual([2, [4, 2]]);
  expect(latest).toMatchObject({ value: 0.2, limit: expect.closeTo(0.32) });
  expect((await call('GET', '/metric-alerts')).body.data).toEqual([]);
});

test('an alert is sent once when its condition is met, and ends when it is no longer met', async () => {
  const { body } = await call('POST', '/metric-alerts', { name: 'Fill rate', ...fillRate });
  const { id } = body.data;
  await check();
  await check(nowMs + 60_000);
  expect(await alertsOf(id)).toEqual([{ value: 0.2, over: false }]);
  expect((await call('GET', `/metric-alerts/${id}`)).body.data).toMatchObject({ firing: true, fired_30_days: 1 });
  await call('PATCH', `/metric-alerts/${id}`, { threshold: 90 });
  await check(nowMs + 120_000);
  expect(await alertsOf(id)).toEqual([{ value: 0.2, over: true }]);
  await call('PATCH', `/metric-alerts/${id}`, { threshold: 60 });
  await t.pool.query('update rollup_progress set rolled_up_at = $1', [new Date(nowMs - hourMs)]);
  await check(nowMs + 180_000);
  expect(await alertsOf(id)).toHaveLength(1); // the totals are behind
  await t.pool.query('update rollup_progress set rolled_up_at = $1', [new Date(nowMs)]);
  await check(nowMs + 180_000);
  expect(await alertsOf(id)).toEqual([
    { value: 0.2, over: true },
    { value: 0.2, over: false },
  ]);
  await call('DELETE', `/metric-alerts/${id}`);
  await check(nowMs + 240_000);
  expect(await alertsOf(id)).toMatchObject([{ over: true }, { over: true }]);
});

test('values are compared in their own unit, and rates need enough events', async () => {
  const timesOf = async (condition: object): Promise<number> => {
    const { body } = await call('POST', '/metric-alerts/preview', { placement: 'metric-test', ...condition });
    expect(body.message).toBe('Condition measured.');
    return body.data.times;
  };
  expect(await timesOf({ metric: 'clicks', comparison: 'below', threshold: 2, window_hours: 1 })).toBe(2);
  expect(await timesOf({ metric: 'clicks', comparison: 'above', threshold: 7, window_hours: 1 })).toBe(2);
  expect(await timesOf({ metric: 'fill_rate', comparison: 'below', threshold: 30, window_hours: 1 })).toBe(2);
  const revenue = { metric: 'revenue', comparison: 'below', window_hours: 1, currency: 'USD' };
  expect(await timesOf({ ...revenue, threshold: 3 })).toBe(1);
  expect(await timesOf({ ...revenue, threshold: 1.5 })).toBe(0);
  expect(await timesOf({ ...revenue, placement: null, threshold: 1.5 })).toBe(0);
  // An hour has 8 clicks, too few for a rate of conversions.
  expect(await timesOf({ metric: 'cvr', comparison: 'below', threshold: 50, window_hours: 1 })).toBe(0);
  expect(await timesOf({ metric: 'cvr', comparison: 'below', threshold: 50, window_hours: 24 })).toBe(1);
});

test('a condition that can never be met is rejected', async () => {
  const alert = { name: 'Wrong', metric: 'clicks', comparison: 'below', threshold: 5 };
  const pathOf = async (change: object): Promise<string> => {
    const { status, body } = await call('POST', '/metric-alerts', { ...alert, ...change });
    expect(status, JSON.stringify(body)).toBe(400);
    return body.error.details[0].path;
  };
  expect(await pathOf({ threshold: 0 })).toBe('/threshold');
  expect(await pathOf({ comparison: 'drop', threshold: 101 })).toBe('/threshold');
  expect(await pathOf({ metric: 'fill_rate', threshold: 120 })).toBe('/threshold');
  expect(await pathOf({ currency: 'EUR' })).toBe('/currency');
  expect(await pathOf({ metric: 'revenue' })).toBe('/currency');
  expect(await pathOf({ metric: 'revenue', currency: 'XYZ' })).toBe('/currency');
  expect(await pathOf({ window_hours: 5 })).toBe('/window_hours');
});

test('an admin sees how often an alert would have been sent before saving it, and later what it measured', async () => {
  const admin = await signInAs(t, 'admin');
  await t.pool.query("insert into placements (publisher_id, name, display_name) values ($1, 'metric-test', '')", [
    t.publisher.id,
  ]);
  await t.deps.catalog.refresh();
  const base = `http://127.0.0.1:${await portOf(t.app)}`;
  const page = await openAs(browser, admin, base, `/dashboard/p/${t.publisher.id}/alerts`);
  await page.getByRole('link', { name: 'Metric alerts' }).click();
  await page.getByRole('link', { name: 'Add metric alert' }).first().click();
  await page.getByLabel('Placement', { exact: true }).selectOption('metric-test');
  await page.getByLabel('Measured over').selectOption('3');
  await page.getByText('2 alerts in the last 30 days').waitFor();
  await page.locator('.chart canvas').waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByLabel('Threshold').fill('90');
  await page.getByLabel('Threshold').blur();
  await page.getByText('No alerts in the last 30 days').waitFor();
  await page.getByLabel('Name', { exact: true }).fill('Poor hours');
  await page.getByLabel('Threshold').fill('40');
  await page.getByRole('button', { name: 'Save', exact: true }).first().click();
  await page.getByRole('status').filter({ hasText: 'saved' }).waitFor();
  await check();
  await page.goto(`${base}/dashboard/p/${t.publisher.id}/alerts`);
  await page.getByText('Metric alert: Poor hours').waitFor();
  await page.getByText('Fill rate at metric-test was 20% in the 3 hours until').first().waitFor();
  await page.getByRole('link', { name: 'Details' }).first().click();
  await page.getByText('Measured values').waitFor();
  await page.locator('.chart canvas').waitFor();
  expect(await violations(page)).toEqual([]);
});

test('the page of a placement alert shows what was measured before and after it', async () => {
  await checkPlacements({ ...t.deps, now: () => nowMs });
  const { rows } = await t.pool.query<{ id: string }>("select id from alerts where kind = 'placement.fill_rate'");
  const analyst = await signInAs(t, 'analyst');
  const answer = await analyst.get(`/dashboard/p/${t.publisher.id}/alerts/${rows[0]?.id}`);
  expect(answer.body).toContain('Measured values');
  expect(answer.body).toContain('down by 50% or more since the previous week in 6 hours');
  expect((await analyst.get(`/dashboard/p/${t.publisher.id}/alerts/999999`)).statusCode).toBe(404);
});

test('in a half-hour time zone, hours begin at half past and values stay the same', async () => {
  await t.pool.query("update publishers set time_zone = 'Asia/Kolkata' where id = $1", [t.publisher.id]);
  await t.deps.catalog.refresh();
  const { body } = await call('POST', '/metric-alerts/preview', fillRate);
  expect(body.data.times).toBe(2);
  expect(Date.parse(body.data.latest.at) % hourMs).toBe(hourMs / 2);
  expect(nowMs - Date.parse(body.data.latest.at)).toBeLessThan(dayMs);
});
