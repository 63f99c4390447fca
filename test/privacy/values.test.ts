import { afterAll, beforeAll, expect, test } from 'vitest';
import { dayMs } from '../../src/platform/lib/time.ts';
import { compactRollups } from '../../src/reports/rollup/compact.ts';
import { activity, byGroup, rollUpAll } from '../reports/support.ts';
import { untilWaiting } from '../support/locks.ts';
import { createTimedApp } from '../tracking/conversions/support.ts';
import { call, fetchOffers } from '../tracking/journey.ts';
import { erase, tablesWith } from './support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
beforeAll(async () => {
  t = await createTimedApp();
});
afterAll(() => t.close());

const byKey = async (customKey: string) => byGroup(await activity(t, { groupBy: ['custom'], customKey }));

async function showOnce(user: string, keys: Record<string, string>): Promise<void> {
  const { offers } = await fetchOffers(t, { pub_user_id: user, ...keys });
  await call(t, offers[0]?.pixel as string);
}

test('an erasure removes only the attribute values of its user from reports, and changes no total', async () => {
  await showOnce('shopper-1', { order: 'order-only-of-1', plan: 'gold' });
  await showOnce('shopper-1', { order: 'order-only-of-1', plan: 'gold' });
  await showOnce('shopper-2', { order: 'order-of-2', plan: 'gold' });
  await rollUpAll(t, t.clock.ms);
  expect(await tablesWith(t, 'order-only-of-1')).toContain('custom_values');
  await showOnce('shopper-1', { order: 'order-not-rolled-up-yet', plan: 'gold' });
  const oneSession = { sessions: 1, filled_sessions: 1, impressions: 1 };
  const two = { sessions: 2, filled_sessions: 2, impressions: 2 };
  expect(await byKey('plan')).toEqual({ gold: { sessions: 3, filled_sessions: 3, impressions: 3 } });
  await erase(t, { pub_user_id: 'shopper-1' });
  await rollUpAll(t, t.clock.ms);
  expect(await tablesWith(t, 'order-only-of-1')).toEqual([]);
  expect(await tablesWith(t, 'order-not-rolled-up-yet')).toEqual([]);
  expect(await byKey('plan')).toEqual({ gold: oneSession, other: two });
  expect(await byKey('order')).toEqual({ 'order-of-2': oneSession, other: two });
});

test('a repeated erasure, or one beyond the daily limit of values, removes no values of others', async () => {
  const key = 'seat';
  await showOnce('shopper-3', { [key]: 'A1' });
  await rollUpAll(t, t.clock.ms);
  // Simulate 999 more values, so that the next new value is counted under `other`.
  await t.pool.query(
    `insert into custom_values (day, publisher_id, key, value)
    select $1, $2, $3, 'x' || n from generate_series(1, 999) as n`,
    [new Date(t.clock.ms).toISOString().slice(0, 10), t.publisher.id, key],
  );
  await showOnce('shopper-4', { [key]: 'B2' });
  await showOnce('shopper-5', { [key]: 'A1' });
  await rollUpAll(t, t.clock.ms);
  const before = await byKey(key);
  expect(before).toMatchObject({ A1: { sessions: 2 }, other: { sessions: 1 } });
  await erase(t, { pub_user_id: 'shopper-4' });
  await erase(t, { pub_user_id: 'shopper-4' });
  expect(await byKey(key)).toEqual(before);
});

test('an erasure does not raise the daily limit of values for other users', async () => {
  for (const user of ['shopper-8', 'shopper-9']) await showOnce(user, { desk: `of ${user}` });
  await rollUpAll(t, t.clock.ms);
  await t.pool.query(
    `insert into custom_values (day, publisher_id, key, value)
    select $1, $2, 'desk', 'x' || n from generate_series(1, 998) as n`,
    [new Date(t.clock.ms).toISOString().slice(0, 10), t.publisher.id],
  );
  const { offers } = await fetchOffers(t, { pub_user_id: 'shopper-10', desk: 'too many' });
  await rollUpAll(t, t.clock.ms);
  for (const user of ['shopper-8', 'shopper-9']) await erase(t, { pub_user_id: user });
  await call(t, offers[0]?.pixel as string);
  await rollUpAll(t, t.clock.ms);
  expect(await byKey('desk')).toEqual({ other: { sessions: 3, filled_sessions: 3, impressions: 3 } });
  expect(await tablesWith(t, 'of shopper')).toEqual([]);
});

test('an erasure changes no total, even while the day is being compacted', async () => {
  await showOnce('shopper-6', { article: 'article-of-6', zone: 'north' });
  await showOnce('shopper-7', { article: 'article-of-7', zone: 'north' });
  await rollUpAll(t, t.clock.ms);
  const blocker = await t.pool.connect();
  await blocker.query("begin; select from custom_rollups where key = 'zone' for update");
  const compacted = compactRollups(t.pool, t.clock.ms + 3 * dayMs);
  await untilWaiting(t.pool, 1); // has rewritten `article`, and not committed it
  const erased = erase(t, { pub_user_id: 'shopper-6' });
  await untilWaiting(t.pool, 2);
  await blocker.query('commit');
  blocker.release();
  await Promise.all([compacted, erased]);
  const oneSession = { sessions: 1, filled_sessions: 1, impressions: 1 };
  expect(await byKey('article')).toEqual({ 'article-of-7': oneSession, other: oneSession });
  expect(await tablesWith(t, 'article-of-6')).toEqual([]);
});
