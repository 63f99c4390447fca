import { afterEach, beforeEach, expect, test } from 'vitest';
import { emptySessions } from '../../../src/offers/sessions.ts';
import { createPool } from '../../../src/platform/db/pool.ts';
import { dayMs } from '../../../src/platform/lib/time.ts';
import { rebucketNext } from '../../../src/reports/rollup/rebucket.ts';
import { rollUp } from '../../../src/reports/rollup/roll-up.ts';
import { askErasure, eraseNext, tablesWith } from '../../privacy/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { call, fetchOffers } from '../../tracking/journey.ts';
import { differences, rollUpAll } from '../support.ts';

let t: TestApp;
beforeEach(async () => {
  t = await createTestApp();
});
afterEach(() => t.close());

/** Runs a rollup with a pause between its snapshot and its lock, during which `work` runs. */
async function rollUpAround(work: () => Promise<unknown>): Promise<void> {
  await t.pool.query(`create schema slow;
    create function slow.pg_try_advisory_xact_lock(key integer) returns boolean language plpgsql as
    $$ begin perform pg_advisory_xact_lock(8); return pg_catalog.pg_try_advisory_xact_lock(key); end $$`);
  const settings = { search_path: 'slow,public' };
  const slow = createPool({ url: t.databaseUrl, size: 1, applicationName: 'slow rollup', onError: () => {}, settings });
  const holder = await t.pool.connect();
  try {
    await holder.query('select pg_advisory_lock(8)');
    const running = rollUp(slow, t.deps.now(), 1e9).catch(() => {});
    const waiting = "select from pg_stat_activity where application_name = 'slow rollup' and wait_event = 'advisory'";
    await expect.poll(async () => (await t.pool.query(waiting)).rowCount).toBe(1);
    await work();
    await holder.query('select pg_advisory_unlock(8)');
    await running;
  } finally {
    holder.release();
    await slow.end();
    await t.pool.query('drop schema slow cascade');
  }
}

test('a rollup that began before a user was erased counts nothing under the values of that user', async () => {
  const { offers } = await fetchOffers(t, { pub_user_id: 'gone', plan: 'platinum' });
  await rollUpAll(t);
  await call(t, offers[0]?.pixel as string);
  await rollUpAround(async () => {
    await askErasure(t, { pub_user_id: 'gone' });
    await eraseNext(t);
  });
  await rollUpAll(t);
  expect(await tablesWith(t, 'platinum')).toEqual([]);
  expect(await differences(t)).toEqual([]);
});

test('a rollup that began before a session was emptied counts it as empty', async () => {
  const { sessionId } = await fetchOffers(t);
  await rollUpAround(() => emptySessions(t.pool, [sessionId]));
  await rollUpAll(t);
  expect(await differences(t)).toEqual([]);
});

test('a rollup that began before totals were re-bucketed counts in the new time zone', async () => {
  const { offers } = await fetchOffers(t);
  await rollUpAll(t);
  await call(t, offers[0]?.pixel as string);
  await rollUpAround(async () => {
    await t.pool.query("update publishers set time_zone = 'Asia/Kathmandu'");
    while ((await rebucketNext(t.pool, t.deps.now(), dayMs)).hasWork);
  });
  await rollUpAll(t);
  expect(await differences(t)).toEqual([]);
});
