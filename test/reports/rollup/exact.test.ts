import { afterEach, beforeEach, expect, test } from 'vitest';
import { dayOf } from '../../../src/platform/lib/time.ts';
import { dayOfUuid7, newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { bookSql } from '../../../src/reports/bookings.ts';
import { sumOf } from '../../../src/reports/metrics.ts';
import { rebucketNext } from '../../../src/reports/rollup/rebucket.ts';
import { rollUp } from '../../../src/reports/rollup/roll-up.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { call, fetchOffers } from '../../tracking/journey.ts';
import { activity, byGroup, differences, nonZero, rollUpAll } from '../support.ts';

let first: TestApp;
let second: TestApp;
beforeEach(async () => {
  first = await createTestApp();
  second = await createTestApp({ databaseUrl: first.databaseUrl });
});
afterEach(async () => {
  await second.close();
  await first.close();
});

const today = () => new Date().toISOString().slice(0, 10);

/** Returns the differences between the reports and the raw rows, as text. */
const disagreements = async (): Promise<string[]> =>
  (await differences(first)).map(({ rollup, differences }) => `${rollup} ${differences}`);

const total = async () => nonZero((await activity(first))[0]?.metrics);

test('totals are exact for repeated beacons through two processes with rollups in between', async () => {
  await rollUpAll(first);
  const sessions = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      fetchOffers(index % 2 === 0 ? first : second, { placement: `page-${index % 3}`, plan: 'gold' }),
    ),
  );
  let isRunning = true;
  let rollupsWithEvents = 0;
  const rollups = Promise.all(
    [first, second].map(async ({ pool }) => {
      while (isRunning) {
        const { events } = await rollUp(pool, first.deps.now(), 5).catch(() => ({ events: null }));
        if (events !== null && events > 0) rollupsWithEvents += 1;
      }
    }),
  );
  const offers = sessions.flatMap(({ offers }) => offers);
  for (const offer of offers)
    await Promise.all([
      call(first, offer.pixel),
      call(second, offer.pixel),
      call(second, offer.beacons.close),
      call(first, offer.beacons.close),
    ]);
  isRunning = false;
  await rollups;
  expect(rollupsWithEvents).toBeGreaterThan(1);
  await rollUpAll(first);
  expect(await total()).toEqual({
    sessions: 40,
    filled_sessions: 40,
    impressions: offers.length,
    closes: offers.length,
  });
  const byPlan = await activity(first, { groupBy: ['custom'], customKey: 'plan' });
  expect(byPlan.map(({ group, metrics }) => [group[0], nonZero(metrics)])).toEqual([['gold', await total()]]);
  expect(await disagreements()).toEqual([]);
  expect(await rollUpAll(second)).toBe(0);
});

test('a transaction that stays open during later rollups is counted once, when it commits', async () => {
  const { offers } = await fetchOffers(first);
  const slow = await first.pool.connect();
  await slow.query('begin');
  await slow.query(
    `insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at)
    select day, id, offer_ids[1], 'impression', publisher_id, campaign_ids[1], 1, now() from sessions`,
  );
  await call(first, offers[1]?.pixel as string);
  await rollUpAll(second);
  await call(first, offers[2]?.pixel as string);
  await rollUpAll(second);
  expect(await total()).toMatchObject({ impressions: 2 });
  await slow.query('commit');
  slow.release();
  await rollUpAll(second);
  await rollUpAll(second);
  expect(await total()).toMatchObject({ impressions: 3 });
  expect(await disagreements()).toEqual([]);
});

test('a rollup that is killed midway changes nothing, and another one takes over', async () => {
  const { offers } = await fetchOffers(first);
  for (const offer of offers) await call(first, offer.pixel);
  // Lock a row that the rollup must write, so that the rollup waits midway.
  const holder = await first.pool.connect();
  await rollUpAll(first);
  await fetchOffers(first);
  await holder.query('begin');
  await holder.query('select from rollups for update');
  const killed = rollUp(second.pool, first.deps.now(), 1e9);
  killed.catch(() => {});
  const running = `select pid from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%all_events as materialized%'`;
  await expect.poll(async () => (await first.pool.query(running)).rowCount).toBe(1);
  expect((await rollUp(first.pool, first.deps.now(), 1e9)).events).toBeNull();
  await first.pool.query(`select pg_terminate_backend(pid) from (${running}) as running`);
  await expect(killed).rejects.toThrow();
  await holder.query('rollback');
  holder.release();
  expect(await total()).toMatchObject({ sessions: 1 });
  await rollUpAll(first);
  expect(await total()).toMatchObject({ sessions: 2, impressions: offers.length });
  expect(await disagreements()).toEqual([]);
});

test('verification reports which rollup was changed, and how', async () => {
  await fetchOffers(first, { placement: 'cart', country: 'DE', plan: 'gold' });
  await fetchOffers(first, { dev: '1' });
  await rollUpAll(first);
  expect(await disagreements()).toEqual([]);
  await first.pool.query("update rollups set sessions = sessions + 1 where grain = 5 and placement = 'cart'");
  await first.pool.query('delete from rollups where grain = 4');
  const offer = '(select min(offer_id) from rollups where grain = 34)';
  await first.pool.query(`update rollups set clicks = 3 where grain = 34 and offer_id = ${offer}`);
  await first.pool.query('update custom_rollups set impressions = 7 where grain = 0');
  await first.pool.query("update reconciliation set count = count + 2 where kind = 'served'");
  await first.pool.query("update reconciliation set count = count - 3 where reason = 'dev'");
  const lines = await disagreements();
  expect(lines).toHaveLength(7);
  expect(lines.find((line) => line.includes('grain=34'))).toMatch(/clicks: 3 → 0$/);
  expect(lines.find((line) => line.includes('key=plan'))).toMatch(/grain=0 .*impressions: 7 → 0$/);
  expect(lines.find((line) => line.includes('kind=served reason= '))).toMatch(/count: (\d) → (?!\1)\d$/);
  expect(lines.filter((line) => line.includes('reason=dev'))).toHaveLength(2);
  expect(lines.find((line) => line.includes('grain=5'))).toMatch(/placement=cart .*country=DE .*sessions: 2 → 1$/);
  expect(lines.find((line) => line.includes('grain=4'))).toMatch(/sessions: 0 → 1,filled_sessions: 0 → 1/);
});

test('events of any age count with the dimensions of their session', async () => {
  const days = [-1, 0, 1, 2, 40];
  await first.pool.query('select create_day_partitions(current_date - 40, current_date + 1)');
  await first.pool.query(
    `with added as (
      insert into sessions
        (day, id, publisher_id, placement, country, device, os, custom,
          offer_ids, campaign_ids, dev, usp, usp_check_all, created_at)
      select $2::date - ago, gen_random_uuid(), $1, 'of-' || ago, 'DE', 'phone', 'ios', jsonb_build_object('ago', ago),
        '{1}', '{1}', ago = 2, false, false, now()
      from unnest($3::integer[]) as ago returning *
    )
    insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at)
    select day, id, 1, kind, publisher_id, 1, 1, now()
    from added cross join unnest(array['impression', 'click']) as kind`,
    [first.publisher.id, today(), days],
  );
  await rollUpAll(first);
  const counted = { sessions: 1, filled_sessions: 1, impressions: 1, clicks: 1 };
  const all = days.filter((ago) => ago !== 2);
  expect(byGroup(await activity(first, { groupBy: ['placement', 'os'] }))).toEqual(
    Object.fromEntries(all.map((ago) => [`of-${ago} ios`, counted])),
  );
  expect(byGroup(await activity(first, { groupBy: ['custom'], customKey: 'ago' }))).toEqual(
    Object.fromEntries(all.map((ago) => [`${ago}`, counted])),
  );
  expect(await disagreements()).toEqual([]);
});

test('a thousand values of an attribute are counted separately each day, and all others as `other`', async () => {
  await first.pool.query(
    `insert into sessions
      (day, id, publisher_id, placement, offer_ids, campaign_ids, custom, dev, usp, usp_check_all, created_at)
    select current_date, gen_random_uuid(), $1, 'checkout', '{}', '{}',
      jsonb_build_object('order', n::text, 'long', repeat('x', 200)), false, false, false, now()
    from generate_series(1, 1500) n cross join generate_series(1, case when n = 1500 then 3 else 1 end)`,
    [first.publisher.id],
  );
  await rollUpAll(first);
  const rows = await activity(first, { groupBy: ['custom'], customKey: 'order' });
  expect(rows).toHaveLength(1001);
  const sessions = Object.fromEntries(rows.map(({ group, metrics }) => [group[0], metrics.sessions]));
  expect(sessions.other).toBe(500);
  expect(sessions['1500']).toBe(3);
  expect(await activity(first, { groupBy: ['custom'], customKey: 'long' })).toMatchObject([
    { group: ['other'], metrics: { sessions: 1502 } },
  ]);
});

/** Books a conversion of the first offer with the given revenue in millionths, by default 5 units. */
const book = (sessionId: string, atMs: number, revenueMicros = 5_000_000n) =>
  first.pool.query(
    bookSql(
      `select $1::date, $2::uuid, $3::uuid, $4::integer, 1, 1, to_timestamp($5 / 1000.0::float8), 1, $6::bigint, 0,
        null`,
    ),
    [dayOfUuid7(sessionId), sessionId, newUuid7(Date.now()), first.publisher.id, atMs, revenueMicros.toString()],
  );

test('a booking at a time without partitions is rolled up without delaying anything', async () => {
  const session = await fetchOffers(first);
  const atMs = Date.UTC(new Date().getUTCFullYear() + 2, 0, 1);
  await book(session.sessionId, atMs);
  await rollUpAll(first);
  expect(await total()).toMatchObject({ sessions: 1 });
  const day = new Date(atMs).toISOString().slice(0, 10);
  const [late] = await activity(first, { from: day, to: day });
  expect(nonZero(late?.metrics)).toEqual({ conversions: 1, revenue_micros: 5_000_000 });
});

test('extreme amounts of conversions break neither counts and reports nor a change of the time zone', async () => {
  const session = await fetchOffers(first, { plan: 'gold' });
  const bookAt = (atMs: number) => book(session.sessionId, atMs, 5n * 10n ** 18n);
  const startMs = Date.parse(today());
  for (let count = 0; count < 24; count += 1) await bookAt(startMs + (count % 12) * 3_600_000);
  await rollUpAll(first);
  await bookAt(startMs);
  await fetchOffers(first);
  await rollUpAll(first);
  expect(await total()).toEqual({ sessions: 2, filled_sessions: 2, conversions: 25, revenue_micros: 1e18 });
  for (const aggregatedBy of ['day', 'hour'] as const)
    expect(await activity(first, { aggregatedBy, groupBy: ['placement', 'offer', 'country', 'device'] })).not.toEqual(
      [],
    );
  expect((await activity(first, { groupBy: ['custom'], customKey: 'plan' }))[0]?.metrics.conversions).toBe(25);
  await first.pool.query("update publishers set time_zone = 'Asia/Kathmandu'");
  while ((await rebucketNext(first.pool, first.deps.now(), 86_400_000)).hasWork);
  const days = await activity(first, {
    timeZone: 'Asia/Kathmandu',
    from: dayOf(startMs - 86_400_000),
    to: dayOf(startMs + 86_400_000),
  });
  expect(sumOf(days)).toMatchObject({ sessions: 2, conversions: 25 });
});
