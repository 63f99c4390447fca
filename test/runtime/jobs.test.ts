import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { dayMs, dayOf } from '../../src/platform/lib/time.ts';
import { newUuid7 } from '../../src/platform/lib/uuid7.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { ensurePartitions, maintain, startJobs } from '../../src/runtime/jobs.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

const config = { retentionRawDays: 90, retentionRollupDays: 400, retentionDeliveryDays: 30 };
const startMs = Date.UTC(2031, 4, 10, 12);

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());
beforeEach(async () => {
  await t.pool.query('delete from delivery_queue');
});

async function daysOf(parent: string): Promise<string[]> {
  const { rows } = await t.pool.query<{ day: string }>(
    `select to_char(to_date(right(c.relname, 8), 'YYYYMMDD'), 'YYYY-MM-DD') as day
    from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = $1::regclass order by 1`,
    [parent],
  );
  return rows.map((row) => row.day);
}

async function addSession(atMs: number, dev: boolean): Promise<string> {
  const id = newUuid7(atMs);
  await t.pool.query(
    `insert into sessions (day, id, publisher_id, placement, offer_ids, campaign_ids, dev, usp, usp_check_all, created_at)
    values ($1, $2, 1, 'checkout', '{}', '{}', $3, true, false, $4)`,
    [dayOf(atMs), id, dev, new Date(atMs)],
  );
  await t.pool.query("insert into usp_sessions (day, session_id, publisher_id, selected) values ($1, $2, 1, '{}')", [
    dayOf(atMs),
    id,
  ]);
  return id;
}

test('partitions reach from two days back to a week ahead', async () => {
  await ensurePartitions(t.pool, startMs);
  await ensurePartitions(t.pool, startMs);
  const wanted = Array.from({ length: 10 }, (_, index) => dayOf(startMs + (index - 2) * dayMs));
  for (const parent of ['sessions', 'events', 'usp_sessions', 'deliveries', 'delivery_attempts']) {
    expect(await daysOf(parent)).toEqual(expect.arrayContaining(wanted));
  }
});

const dayAt = (days: number) => dayOf(startMs + days * dayMs);
const addWaiting = (days: readonly number[]) =>
  t.pool.query(
    'insert into delivery_queue (delivery_id, day, endpoint_id, due_at) select gen_random_uuid(), day, 1, now() from unnest($1::date[]) day',
    [days.map(dayAt)],
  );
const waitingDays = async () =>
  (await t.pool.query('select day::text from delivery_queue order by day')).rows.map(({ day }) => day);

test('sessions and events are kept 90 days, deliveries and attempts 30', async () => {
  await ensurePartitions(t.pool, startMs);
  await maintain(t.pool, config, startMs + 30 * dayMs);
  expect((await daysOf('deliveries'))[0]).toBe(dayAt(0));
  expect((await daysOf('delivery_attempts'))[0]).toBe(dayAt(0));
  expect((await daysOf('sessions'))[0]).not.toBe(dayAt(0));
  await maintain(t.pool, config, startMs + 90 * dayMs);
  for (const parent of ['sessions', 'events', 'usp_sessions']) expect((await daysOf(parent))[0]).toBe(dayAt(0));
});

test('a day of which a delivery still waits is kept, up to twice as long; what is given up then is counted', async () => {
  await t.pool.query('select create_day_partitions($1::date, $2::date)', [dayAt(91), dayAt(95)]);
  await addWaiting([92, 94]);
  expect(await maintain(t.pool, config, startMs + 130 * dayMs)).toMatchObject({ givenUp: 0 });
  expect((await daysOf('deliveries'))[0]).toBe(dayAt(92));
  expect(await waitingDays()).toEqual([dayAt(92), dayAt(94)]);
  expect(await maintain(t.pool, config, startMs + 153 * dayMs)).toMatchObject({ givenUp: 1 });
  expect([await waitingDays(), (await daysOf('deliveries'))[0]]).toEqual([[dayAt(94)], dayAt(94)]);
  expect(await maintain(t.pool, config, startMs + 155 * dayMs)).toMatchObject({ givenUp: 1 });
  expect((await daysOf('delivery_attempts'))[0]).toBe(dayAt(128));
});

test('the sums of reports are kept 400 days, by whole months', async () => {
  await ensurePartitions(t.pool, startMs); // May 2031
  const june2032 = Date.UTC(2032, 5, 1, 12);
  await maintain(t.pool, config, june2032 + 3 * dayMs); // keeps from April 30, 2031
  expect(await daysOf('rollups')).toContain('2031-05-01');
  await maintain(t.pool, config, june2032 + 36 * dayMs); // keeps from June 2, 2031
  expect(await daysOf('rollups')).not.toContain('2031-05-01');
  expect(await daysOf('custom_rollups')).toEqual(await daysOf('rollups'));
});

test('dev sessions are kept one day, others longer', async () => {
  const nowMs = startMs + 400 * dayMs;
  await ensurePartitions(t.pool, nowMs);
  const old = await addSession(nowMs - dayMs - 1, true);
  const recent = await addSession(nowMs - dayMs + 1000, true);
  const real = await addSession(nowMs - dayMs - 1, false);
  expect(await maintain(t.pool, config, nowMs)).toMatchObject({ devSessions: 1 });
  const left = async (table: string, column: string) =>
    (await t.pool.query(`select ${column} as id from ${table} where ${column} = any($1)`, [[old, recent, real]])).rows
      .map((row) => row.id)
      .sort();
  expect(await left('sessions', 'id')).toEqual([recent, real].sort());
  expect(await left('usp_sessions', 'session_id')).toEqual([recent, real].sort());
});

test('a round is done at the start, and stop waits for it', async () => {
  const nowMs = startMs + 800 * dayMs;
  const maintenance = startJobs({ pool: t.pool, config, logger: createLogger('silent'), now: () => nowMs });
  await maintenance.stop();
  expect(await daysOf('sessions')).toContain(dayOf(nowMs + 7 * dayMs));
});

test('sums that were not put in order for long do not keep a process from ending', async () => {
  const nowMs = startMs + 800 * dayMs;
  const behind = dayOf(nowMs - 300 * dayMs);
  await t.pool.query("insert into rollup_publishers (publisher_id, time_zone, tidied_upto) values (1000, 'UTC', $1)", [
    behind,
  ]);
  const maintenance = startJobs({ pool: t.pool, config, logger: createLogger('silent'), now: () => nowMs });
  await maintenance.stop();
  const { rows } = await t.pool.query('select tidied_upto::text from rollup_publishers where publisher_id = 1000');
  expect(rows).toEqual([{ tidied_upto: behind }]);
});
