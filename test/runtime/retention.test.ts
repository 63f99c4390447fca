import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ensurePartitions } from '../../src/platform/db/partitions.ts';
import { transaction } from '../../src/platform/db/pool.ts';
import { dayMs, dayOf } from '../../src/platform/lib/time.ts';
import { newUuid7 } from '../../src/platform/lib/uuid7.ts';
import { applyRetention } from '../../src/runtime/run-jobs.ts';
import { applyWebhookRetention } from '../../src/webhooks/jobs.ts';
import { erase, tablesWith } from '../privacy/support.ts';
import { activity, rollUpAll } from '../reports/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';
import { clickOffer, createTimedApp, track } from '../tracking/conversions/support.ts';

const startMs = Date.UTC(2031, 4, 10, 12);

let t: TestApp;
/** Applies the retention of all modules as of a given time, with the default periods. */
const applyAt = async (nowMs: number) => {
  await ensurePartitions(t.pool, nowMs);
  await applyRetention(t.contributions.modules, { ...t.deps, now: () => nowMs });
};
const applyToDeliveries = async (nowMs: number) => {
  await ensurePartitions(t.pool, nowMs);
  return applyWebhookRetention(t.pool, t.deps.config, nowMs);
};

beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());
beforeEach(async () => {
  await t.pool.query('delete from delivery_queue');
});

async function daysOf(parent: string, pool = t.pool): Promise<string[]> {
  const { rows } = await pool.query<{ day: string }>(
    `select to_char(to_date(right(c.relname, 8), 'YYYYMMDD'), 'YYYY-MM-DD') as day
    from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = $1::regclass order by 1`,
    [parent],
  );
  return rows.map((row) => row.day);
}

const daysBetween = (fromMs: number, toMs: number): string[] =>
  Array.from({ length: Math.round((toMs - fromMs) / dayMs) + 1 }, (_, index) => dayOf(fromMs + index * dayMs));

async function addSession(atMs: number, dev: boolean): Promise<string> {
  const id = newUuid7(atMs);
  await t.pool.query(
    `insert into sessions
      (day, id, publisher_id, placement, offer_ids, campaign_ids, dev, usp, usp_check_all, created_at)
    values ($1, $2, 1, 'checkout', '{}', '{}', $3, true, false, $4)`,
    [dayOf(atMs), id, dev, new Date(atMs)],
  );
  await t.pool.query("insert into usp_sessions (day, session_id, publisher_id, selected) values ($1, $2, 1, '{}')", [
    dayOf(atMs),
    id,
  ]);
  return id;
}

test('partitions reach from two days ago to a week ahead', async () => {
  await ensurePartitions(t.pool, startMs);
  await ensurePartitions(t.pool, startMs);
  const expectedDays = Array.from({ length: 10 }, (_, index) => dayOf(startMs + (index - 2) * dayMs));
  for (const parent of ['sessions', 'events', 'usp_sessions', 'deliveries', 'delivery_attempts']) {
    expect(await daysOf(parent)).toEqual(expect.arrayContaining(expectedDays));
  }
});

test('partitions are created while transactions use the tables in any order', async () => {
  await transaction(t.pool, async (busy) => {
    for (const table of ['usp_sessions', 'events', 'sessions', 'conversions', 'bookings', 'deliveries', 'rollups'])
      await busy.query(`lock table ${table} in row exclusive mode`);
    await ensurePartitions(t.pool, startMs + 800 * dayMs); // waiting for `busy` it would never end
  });
  expect(await daysOf('sessions')).toContain(dayOf(startMs + 800 * dayMs));
  const { rows } = await t.pool.query(
    `select relname from pg_class c join pg_inherits on inhrelid = c.oid
    where relname like '%\\_p203%' and not exists (select from pg_index where indrelid = c.oid and indisvalid)
      and exists (select from pg_index where indrelid = inhparent)`,
  );
  expect(rows).toEqual([]);
});

const dayAt = (days: number) => dayOf(startMs + days * dayMs);
const addQueued = (days: readonly number[]) =>
  t.pool.query(
    `insert into delivery_queue (delivery_id, day, endpoint_id, due_at)
    select gen_random_uuid(), day, 1, now() from unnest($1::date[]) day`,
    [days.map(dayAt)],
  );
const queuedDays = async () =>
  (await t.pool.query('select day::text from delivery_queue order by day')).rows.map(({ day }) => day);

test('sessions and events are kept for 90 days, and deliveries and attempts for 30 days', async () => {
  await ensurePartitions(t.pool, startMs);
  await applyAt(startMs + 30 * dayMs);
  expect((await daysOf('deliveries'))[0]).toBe(dayAt(0));
  expect((await daysOf('delivery_attempts'))[0]).toBe(dayAt(0));
  expect((await daysOf('sessions'))[0]).not.toBe(dayAt(0));
  await applyAt(startMs + 90 * dayMs);
  for (const parent of ['sessions', 'events', 'usp_sessions']) expect((await daysOf(parent))[0]).toBe(dayAt(0));
});

test('a day with a queued delivery is kept up to twice as long, and discarded deliveries are counted', async () => {
  await t.pool.query('select create_day_partitions($1::date, $2::date)', [dayAt(91), dayAt(95)]);
  await addQueued([92, 94]);
  expect(await applyToDeliveries(startMs + 130 * dayMs)).toMatchObject({ discarded: 0 });
  expect((await daysOf('deliveries'))[0]).toBe(dayAt(92));
  expect(await queuedDays()).toEqual([dayAt(92), dayAt(94)]);
  expect(await applyToDeliveries(startMs + 153 * dayMs)).toMatchObject({ discarded: 1 });
  expect([await queuedDays(), (await daysOf('deliveries'))[0]]).toEqual([[dayAt(94)], dayAt(94)]);
  expect(await applyToDeliveries(startMs + 155 * dayMs)).toMatchObject({ discarded: 1 });
  expect((await daysOf('delivery_attempts'))[0]).toBe(dayAt(128));
});

test('rollups are kept for 400 days, in whole months', async () => {
  await ensurePartitions(t.pool, startMs); // May 2031
  const june2032 = Date.UTC(2032, 5, 1, 12);
  await applyAt(june2032 + 3 * dayMs); // keeps from April 30, 2031
  expect(await daysOf('rollups')).toContain('2031-05-01');
  await applyAt(june2032 + 36 * dayMs); // keeps from June 2, 2031
  expect(await daysOf('rollups')).not.toContain('2031-05-01');
  expect(await daysOf('custom_rollups')).toEqual(await daysOf('rollups'));
});

test('dev sessions are kept for one day, and others for longer', async () => {
  const nowMs = startMs + 400 * dayMs;
  await ensurePartitions(t.pool, nowMs);
  const old = await addSession(nowMs - dayMs - 1, true);
  const recent = await addSession(nowMs - dayMs + 1000, true);
  const real = await addSession(nowMs - dayMs - 1, false);
  await applyAt(nowMs);
  const remainingIds = async (table: string, column: string) =>
    (await t.pool.query(`select ${column} as id from ${table} where ${column} = any($1)`, [[old, recent, real]])).rows
      .map((row) => row.id)
      .sort();
  expect(await remainingIds('sessions', 'id')).toEqual([recent, real].sort());
  expect(await remainingIds('usp_sessions', 'session_id')).toEqual([recent, real].sort());
});

test('a dev session that an erasure has locked does not delay retention and is deleted later', async () => {
  const nowMs = startMs + 400 * dayMs;
  await ensurePartitions(t.pool, nowMs);
  const [locked, free] = [await addSession(nowMs - dayMs - 1, true), await addSession(nowMs - dayMs - 1, true)];
  const remainingIds = async () =>
    (await t.pool.query('select id from sessions where id = any($1)', [[locked, free]])).rows.map(({ id }) => id);
  await transaction(t.pool, async (erasure) => {
    await erasure.query('select from sessions where id = $1 for update', [locked]);
    await applyAt(nowMs);
    expect(await remainingIds()).toEqual([locked]);
  });
  await applyAt(nowMs);
  expect(await remainingIds()).toEqual([]);
});

// Long timeout: the test simulates 100 days.
test('partitions rotate over 100 days, reports are kept, and no data of an erased user remains', {
  timeout: timeLimit(120_000),
}, async () => {
  const sim = await createTimedApp();
  const { clock, pool } = sim;
  try {
    const fromMs = Math.floor(clock.ms / dayMs) * dayMs + dayMs / 2;
    const [from, to] = [dayOf(fromMs), dayOf(fromMs + 100 * dayMs)];
    /**
     * Returns the report rows up to a day. They must be the same while the day's raw rows are stored and after they are
     * deleted.
     */
    const reported = (until: string) =>
      activity(sim, { from, to: until, aggregatedBy: 'day', groupBy: ['campaign', 'placement'] });
    /**
     * Runs the retention of one day. A worker that was stopped for less than a week uses the partitions that were
     * created in advance.
     */
    const work = async (day: number): Promise<void> => {
      clock.ms = fromMs + day * dayMs;
      await ensurePartitions(pool, clock.ms);
      await applyRetention(sim.contributions.modules, { ...sim.deps, now: () => clock.ms });
    };
    for (let day = 0; day < 30; day += 5) {
      await work(day);
      const click = await clickOffer(sim, { pub_user_id: 'erased-later', cart: `cart-${day}` });
      await track(sim, { click_id: click.clickId, payout: '5', txn_id: `order-${day}` });
      await clickOffer(sim, { pub_user_id: 'stays' });
      await rollUpAll(sim, clock.ms);
    }
    const before = await reported(to);
    expect(before.length).toBeGreaterThan(5);
    await erase(sim, { pub_user_id: 'erased-later' });
    for (let day = 30; day <= 100; day += 5) await work(day);
    await rollUpAll(sim, clock.ms);

    expect(await daysOf('sessions', pool)).toEqual(daysBetween(clock.ms - 90 * dayMs, clock.ms + 7 * dayMs));
    expect(await daysOf('deliveries', pool)).toEqual(daysBetween(clock.ms - 30 * dayMs, clock.ms + 7 * dayMs));
    const { rows } = await pool.query<{ first: string }>('select min(day)::text as first from events');
    expect(rows).toEqual([{ first: dayOf(fromMs + 10 * dayMs) }]);
    expect(await reported(to)).toEqual(before);
    for (const trace of ['erased-later', 'cart-15', 'order-15']) expect(await tablesWith(sim, trace)).toEqual([]);
    expect(await tablesWith(sim, 'stays')).toContain('sessions');
  } finally {
    await sim.close();
  }
});
