import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Executor, transaction } from '../../../src/platform/db/pool.ts';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { rollupLagMs } from '../../../src/reports/rollup/metrics.ts';
import { rollUp } from '../../../src/reports/rollup/roll-up.ts';
import { isConsistent, reconcileDeliveries } from '../../../src/webhooks/deliveries/reconciliation.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { call, googlebot, mintLike, showOffer } from '../../tracking/journey.ts';
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
  test('requires the token, and responds with 401 without it or with another', async () => {
    expect((await scrape()).statusCode).toBe(401);
    expect((await scrape(`Bearer ${token}x`)).statusCode).toBe(401);
    expect((await scrape(`Bearer ${t.publisher.key}`)).statusCode).toBe(401);
    const answer = await scrape(`Bearer ${token}`);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
  });

  test('does not exist if no token is configured', async () => {
    const other = await createTestApp({ databaseUrl: t.databaseUrl });
    expect((await other.app.inject({ url: '/metrics', headers: { authorization: 'Bearer ' } })).statusCode).toBe(404);
    await other.close();
  });

  test('shows webhooks, requests and the event loop, but no URL, host or ID', async () => {
    const hook = await startHook((response, _taken, count) => void response.writeHead(count === 1 ? 500 : 200).end());
    const dispatcher = await startTestDispatcher(t, { meter: t.deps.dispatcherMetrics?.meter as never });
    const endpoint = await addEndpoint(t, hook.url);
    await enqueueDelivery(t, endpoint);
    await enqueueDelivery(t, await addEndpoint(t, 'http://10.0.0.1/'));
    await until(
      async () =>
        (await scrape(`Bearer ${token}`)).body.includes('perkwire_webhook_attempts_total{outcome="blocked"} 1'),
      true,
    );
    await enqueueDelivery(t, endpoint);
    await until(
      async () =>
        (await scrape(`Bearer ${token}`)).body.includes('perkwire_webhook_attempts_total{outcome="delivered"} 1'),
      true,
    );
    const expected = [
      'perkwire_webhook_attempts_total{outcome="status"} 1',
      'perkwire_webhook_lag_seconds_count 3',
      'perkwire_webhook_breakers{state="closed"}',
      'perkwire_webhook_queue{lane="live"}',
      'perkwire_webhook_unbalanced 0',
      'perkwire_webhook_calls_in_flight 0',
      'perkwire_http_request_duration_seconds_count{route="/metrics",status="4xx"}',
      'nodejs_eventloop_lag_seconds',
    ];
    // A scrape omits metrics that are counted in the database if counting takes too long.
    let body = '';
    await expect
      .poll(async () => {
        ({ body } = await scrape(`Bearer ${token}`));
        return expected.filter((line) => !body.includes(line));
      })
      .toEqual([]);
    expect(body).not.toContain(new URL(hook.url).host);
    expect(body).not.toContain('10.0.0.1');
    await dispatcher.stop();
    await hook.close();
  });
});

test('a flood of invented paths and methods creates no new series', async () => {
  const seriesOf = async () =>
    (await scrape(`Bearer ${token}`)).body.match(/^perkwire_http_request\w+_count.*$/gm) ?? [];
  await t.app.inject({ method: 'GET', url: '/made-up' });
  await t.app.inject({ method: 'POST', url: '/made-up' });
  const before = await seriesOf();
  for (let index = 0; index < 20; index += 1)
    await t.app.inject({ method: index % 2 === 0 ? 'GET' : 'POST', url: `/made-up/${index}?name=${index}` });
  const after = await seriesOf();
  expect(after.length).toBe(before.length);
  expect(after.join('\n')).toContain('route="unknown",status="4xx"');
  expect(after.join('\n')).not.toContain('made-up');
});

/** Returns the value of a series on the metrics page, or null if it is missing. */
const seriesOf = (page: string, series: string): number | null => {
  const line = page.split('\n').find((pageLine) => pageLine.startsWith(`${series} `));
  return line === undefined ? null : Number(line.slice(series.length + 1));
};

test('metrics count fetches, beacons and clicks by result, kind and suspicion, and time their batches', async () => {
  const offer = await showOffer(t);
  await t.app.inject({
    method: 'POST',
    url: `/native/v2/offers.json?api_key=${t.publisher.key}&campaignId=999999`,
    payload: { placement: 'checkout' },
  });
  await call(t, offer.pixel);
  await call(t, offer.beacons.close, { 'user-agent': googlebot });
  const elsewhere = new URL(offer.click_url);
  elsewhere.searchParams.set('t', mintLike(t, offer, { sessionId: newUuid7(t.deps.now()) }));
  await call(t, elsewhere.href);
  await t.deps.catalog.refresh();
  const { body } = await scrape(`Bearer ${token}`);
  const expected = {
    'perkwire_fetches_total{surface="unit",result="filled"}': 1,
    'perkwire_fetches_total{surface="unit",result="nothing_eligible"}': 1,
    'perkwire_fetches_total{surface="unit",result="deadline"}': 0,
    perkwire_decision_duration_seconds_count: 2,
    'perkwire_events_total{kind="impression",suspicion="none"}': 1,
    'perkwire_events_total{kind="close",suspicion="bot"}': 1,
    'perkwire_events_total{kind="click",suspicion="no_impression"}': 1,
    'perkwire_events_total{kind="click",suspicion="none"}': 0,
    'perkwire_batch_commit_seconds_count{batch="beacons"}': 2,
    'perkwire_batch_items_sum{batch="beacons"}': 2,
    'perkwire_batch_waiting{batch="beacons"}': 0,
    'perkwire_batch_failures_total{batch="beacons"}': 0,
    perkwire_database_up: 1,
    'perkwire_database_connections_limit{pool="requests"}': t.deps.config.databasePoolSize,
    perkwire_catalog_version: t.deps.catalog.current().version,
  };
  expect(Object.fromEntries(Object.keys(expected).map((series) => [series, seriesOf(body, series)]))).toEqual(expected);
  expect(seriesOf(body, 'perkwire_offers_served_total{surface="unit"}')).toBeGreaterThan(0);
  expect(seriesOf(body, 'perkwire_catalog_snapshot_age_seconds')).toBeGreaterThanOrEqual(0);
});

test('the rollup lag is the age of the oldest data that reports do not count yet', async () => {
  await showOffer(t);
  const laterMs = t.deps.now() + 3_600_000;
  const lagMs = (executor: Executor): Promise<number> => rollupLagMs(executor, laterMs);
  expect(await transaction(t.pool, lagMs)).toBeGreaterThan(0);
  while (!(await rollUp(t.pool, t.deps.now(), 10_000_000)).complete);
  expect(await transaction(t.pool, lagMs)).toBe(0);
});

test('the rollup lag of up-to-date reports is read from the index of new rows only', async () => {
  const client = await t.pool.connect();
  const fetched = async (): Promise<number> => {
    const sql = "select sum(idx_tup_fetch)::int as n from pg_stat_xact_user_tables where relname like 'events%'";
    return (await client.query<{ n: number }>(sql)).rows[0]?.n ?? 0;
  };
  try {
    await client.query('begin');
    await client.query(`
      insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at, written_by)
      select (now() at time zone 'UTC')::date, gen_random_uuid(), 1, 'impression', 1, 1, 1, now(), '3'
      from generate_series(1, 20000)`);
    await client.query('update rollup_progress set until_xid = pg_snapshot_xmax(pg_current_snapshot())');
    await client.query(
      "select brin_summarize_new_values(inhrelid) from pg_inherits where inhparent = 'events_written_by'::regclass",
    );
    const before = await fetched();
    expect(await rollupLagMs(client, t.deps.now())).toBe(0);
    expect((await fetched()) - before).toBe(0);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

test('monitoring.md lists every metric with its type and labels, and no others', async () => {
  const { body } = await scrape(`Bearer ${token}`);
  const exposed = [...body.matchAll(/^# TYPE (perkwire_\w+) (\w+)$/gm)].map(([, name, type]) => `${name} ${type}`);
  const chapter = readFileSync(new URL('../../../docs/monitoring.md', import.meta.url), 'utf8');
  const listed = [...chapter.matchAll(/^\| `(perkwire_\w+)(?:\{([\w,]+)\})?` \| (\w+) \|/gm)];
  expect(listed.map(([, name, , type]) => `${name} ${type}`).sort()).toEqual(exposed.sort());
  const labelsOf = new Map(listed.map(([, name, labels = '']) => [name, labels.split(',')]));
  for (const [, name = '', labels = ''] of body.matchAll(/^(perkwire_\w+?)(?:_bucket|_sum|_count)?\{(.+)\} /gm)) {
    const labelNames = [...labels.matchAll(/(\w+)="/g)]
      .map(([, label = '']) => label)
      .filter((label) => label !== 'le');
    expect([name, labelsOf.get(name)]).toEqual([name, labelNames.length === 0 ? [''] : labelNames]);
  }
});

test('the delivery balance detects a delivery that nobody would send or that would be sent twice', async () => {
  const endpoint = await addEndpoint(t, 'http://127.0.0.1:9/');
  const ids = [await enqueueDelivery(t, endpoint), await enqueueDelivery(t, endpoint)];
  const before = await reconcileDeliveries(t.pool);
  expect(isConsistent(before)).toBe(true);
  expect(before.created).toBeGreaterThanOrEqual(2);
  await t.pool.query('delete from delivery_queue where delivery_id = $1', [ids[0]]);
  await t.pool.query("update deliveries set status = 'delivered' where id = $1", [ids[1]]);
  const after = await reconcileDeliveries(t.pool, { days: 2, nowMs: t.deps.now() });
  expect(after).toMatchObject({ lost: 1, stray: 1 });
  expect(isConsistent(after)).toBe(false);
});
