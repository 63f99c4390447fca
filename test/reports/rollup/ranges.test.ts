import type pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPool } from '../../../src/platform/db/pool.ts';
import { dayMs, dayOf } from '../../../src/platform/lib/time.ts';
import { createRangeSummariser } from '../../../src/reports/rollup/ranges.ts';
import { verifyRollups } from '../../../src/reports/verify.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { activity, nonZero, rollUpAll } from '../support.ts';

let testApp: TestApp;
beforeEach(async () => {
  testApp = await createTestApp();
  // Disable autovacuum, because it also summarises ranges.
  for (const daysAgo of [0, 1, 2])
    await testApp.pool.query(`alter table ${partition(daysAgo)} set (autovacuum_enabled = off)`);
});
afterEach(() => testApp.close());

const nowMs = Date.now();

/** Inserts current impressions for sessions of a given day. */
async function insertEvents(count: number, daysAgo = 0, pool = testApp.pool): Promise<void> {
  await pool.query(
    `insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at)
    select $1, gen_random_uuid(), 1, 'impression', $2, 1, 1, $3 from generate_series(1, $4)`,
    [dayOf(nowMs - daysAgo * dayMs), testApp.publisher.id, new Date(nowMs), count],
  );
}

const impressions = async (): Promise<number | undefined> => nonZero((await activity(testApp))[0]?.metrics).impressions;

async function differences(): Promise<unknown[]> {
  const client = await testApp.pool.connect();
  try {
    return (await verifyRollups(client, dayOf(nowMs), dayOf(nowMs))).differences;
  } finally {
    client.release();
  }
}

const partition = (daysAgo = 0): string => `events_p${dayOf(nowMs - daysAgo * dayMs).replaceAll('-', '')}`;

/** Returns whether the range that contains a page had a summary. It has one afterwards. */
async function isSummarised(daysAgo: number, page = 0): Promise<boolean> {
  const { rows } = await testApp.pool.query<{ made: number }>(
    `select brin_summarize_range(indexrelid, $2) as made
    from pg_index join pg_class index on index.oid = indexrelid join pg_am am on am.oid = relam
    where indrelid = $1::regclass and amname = 'brin'`,
    [partition(daysAgo), page],
  );
  expect(rows).toHaveLength(1);
  return rows[0]?.made === 0;
}

/**
 * Returns the number of pages in today's partition that were read by connections which have already reported their
 * statistics.
 */
async function pagesRead(pool: pg.Pool): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()');
  const { rows } = await pool.query<{ pages: number }>(
    'select (heap_blks_hit + heap_blks_read)::integer as pages from pg_statio_user_tables where relname = $1',
    [partition()],
  );
  return rows[0]?.pages ?? 0;
}

/** Returns the number of pages in today's partition that one rollup reads. */
async function pagesOfRollup(pool: pg.Pool): Promise<number> {
  const before = await pagesRead(pool);
  await rollUpAll({ pool });
  return (await pagesRead(pool)) - before;
}

test('rows are counted once even if the index already covers their page or if they reuse freed space', async () => {
  const summarise = createRangeSummariser(testApp.pool);
  await insertEvents(30_000);
  await rollUpAll(testApp);
  await summarise(nowMs);
  await testApp.pool.query(`delete from events where session_id < '80000000-0000-0000-0000-000000000000'`);
  await testApp.pool.query(`vacuum ${partition()}`);
  await insertEvents(20_000);
  await summarise(nowMs);
  await insertEvents(10_000);
  await rollUpAll(testApp);
  expect(await impressions()).toBe(60_000);
  await testApp.pool.query('update events set position = 2');
  await summarise(nowMs);
  expect(await rollUpAll(testApp)).toBe(0);
});

test('a rollup of a few rows reads only a few pages of a large day', async () => {
  // Use a single connection, because other connections report their reads late.
  const pool = createPool({ url: testApp.databaseUrl, size: 1, applicationName: 'perkwire-test', onError: () => {} });
  try {
    await insertEvents(80_000, 0, pool);
    await rollUpAll({ pool });
    await insertEvents(1, 0, pool);
    const all = await pagesOfRollup(pool);
    await createRangeSummariser(pool)(nowMs);
    await insertEvents(1, 0, pool);
    const few = await pagesOfRollup(pool);
    expect(all).toBeGreaterThan(700);
    expect(few).toBeLessThan(220);
  } finally {
    await pool.end();
  }
  expect(await impressions()).toBe(80_002);
  expect(await differences()).toEqual([]);
});

test('the index covers a range of pages once it is full, and all ranges once their day is over', async () => {
  const summarise = createRangeSummariser(testApp.pool);
  for (const daysAgo of [0, 1, 2]) await insertEvents(25_000, daysAgo);
  await summarise(nowMs);
  expect([await isSummarised(0), await isSummarised(1), await isSummarised(2)]).toEqual([true, true, true]);
  expect([await isSummarised(0, 200), await isSummarised(1, 200), await isSummarised(2, 200)]).toEqual([
    false,
    false,
    true,
  ]);
});

test('the index of a day that is being vacuumed is completed later', async () => {
  const summarise = createRangeSummariser(testApp.pool);
  await insertEvents(25_000);
  const vacuum = await testApp.pool.connect();
  await vacuum.query(`begin; lock table ${partition()} in share update exclusive mode`);
  await summarise(nowMs);
  await vacuum.query('rollback');
  vacuum.release();
  await summarise(nowMs);
  expect(await isSummarised(0)).toBe(true);
});
