import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eraseSessions } from '../../../src/offers/fetch/user-data.ts';
import { emptySessions } from '../../../src/offers/sessions.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { dayMs, dayOf, minuteMs } from '../../../src/platform/lib/time.ts';
import type { UserCount } from '../../../src/reports/metrics.ts';
import type { ActivityQuery } from '../../../src/reports/query/types.ts';
import { compactReach } from '../../../src/reports/reach/compact.ts';
import { countUsersOf, userKeyOf, userSourceOf, usersFromDay } from '../../../src/reports/reach/read.ts';
import { countFrequency, countOverlap } from '../../../src/reports/reach/spread.ts';
import { rebucketNext } from '../../../src/reports/rollup/rebucket.ts';
import { rollUp } from '../../../src/reports/rollup/roll-up.ts';
import { verifyRollups } from '../../../src/reports/verify.ts';
import { createTestModules, type TestModules } from '../../support/test-modules.ts';
import { timeLimit } from '../../support/time-limit.ts';
import { rollUpAll } from '../support.ts';
import { type Impression, impression, storeImpressions } from './support.ts';

let t: TestModules<'offers'>;
beforeAll(async () => {
  t = await createTestModules(['offers']);
  await t.pool.query('select create_day_partitions(current_date - 40, current_date + 1)');
});
afterAll(() => t?.close());

let publisherId = 0;
beforeEach(async () => {
  const { rows } = await t.pool.query<{ id: number }>(
    "insert into publishers (name, sdk_id) values ('P', substr(md5(gen_random_uuid()::text), 1, 16)) returning id",
  );
  publisherId = rows[0]?.id as number;
});

/** Noon of yesterday, so that no day ends during a test. */
const noonMs = Math.floor(Date.now() / dayMs) * dayMs - dayMs / 2;

const queryOf = (query: Partial<ActivityQuery> = {}): ActivityQuery => ({
  publisherId,
  from: dayOf(noonMs - 2 * dayMs),
  to: dayOf(noonMs),
  aggregatedBy: 'day',
  groupBy: [],
  filters: {},
  customKey: null,
  customValues: null,
  timeZone: 'UTC',
  buckets: 'day',
  ...query,
});

const limits = { timeout: timeLimit(60_000) };

const count = (query: Partial<ActivityQuery> = {}, source: 'sketches' | 'raw' = 'sketches') =>
  countUsersOf(t.pool, queryOf(query), { source, grouping: 'range' });
const total = async (query: Partial<ActivityQuery> = {}): Promise<UserCount> => (await count(query)).total;

const store = (impressions: readonly Impression[]) => storeImpressions(t.pool, publisherId, impressions);

const unequal = async (): Promise<string[]> => {
  const client = await t.pool.connect();
  try {
    const { differences } = await verifyRollups(client, dayOf(noonMs - 30 * dayMs), dayOf(Date.now() + dayMs));
    return differences.map(({ rollup, differences: columns }) => `${rollup}: ${columns}`);
  } finally {
    client.release();
  }
};

/** Returns a function that picks random integers below a limit. */
function createRandom(seed = Number(process.env.TEST_SEED)): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const places = ['checkout', 'cart', 'home'];
const dimensions = (random: (limit: number) => number) => ({
  placement: places[random(3)] as string,
  offerId: 1 + random(5),
  country: ['DE', 'FR', ''][random(3)] as string,
  device: ['mobile', 'desktop'][random(2)] as string,
  os: ['ios', 'windows'][random(2)] as string,
  plan: ['gold', 'free'][random(2)] as string,
});

test('a user with many impressions counts once in each row and once in the total', async () => {
  const [ann, bob] = [randomUUID(), randomUUID()];
  await store([
    impression({ atMs: noonMs, userKey: ann, placement: 'cart' }),
    impression({ atMs: noonMs, userKey: ann, placement: 'home' }),
    impression({ atMs: noonMs - dayMs, userKey: ann, placement: 'home' }),
    impression({ atMs: noonMs, userKey: bob, placement: 'home' }),
    impression({ atMs: noonMs, userKey: null, placement: 'home' }),
  ]);
  await rollUpAll(t);
  for (const isCompacted of [false, true]) {
    if (isCompacted) await compactReach(t.pool);
    const { groups, total } = await count({ groupBy: ['placement'] });
    expect(groups.get(userKeyOf(null, ['cart']))).toEqual({ users: 1, impressions: 1, unknown: 0, isExact: true });
    expect(groups.get(userKeyOf(null, ['home']))).toEqual({ users: 2, impressions: 3, unknown: 1, isExact: true });
    expect(total).toEqual({ users: 2, impressions: 4, unknown: 1, isExact: true });
  }
  const byDay = await countUsersOf(t.pool, queryOf(), { source: 'sketches', grouping: 'slots' });
  expect([...byDay.groups.values()].map(({ users }) => users).sort()).toEqual([1, 2]);
});

test(
  'after late events, erasures, emptied sessions and killed rollups, user counts equal the raw rows',
  async () => {
    const random = createRandom();
    const users = Array.from({ length: 40 }, () => randomUUID());
    const all: Impression[] = [];
    for (let round = 0; round < 6; round += 1) {
      const added = Array.from({ length: 60 }, () => {
        const offer = dimensions(random);
        const userKey = random(8) === 0 ? null : (users[random(users.length)] as string);
        return impression({
          ...offer,
          atMs: noonMs - random(3) * dayMs - random(600) * minuteMs,
          campaignId: (offer.offerId % 2) + 1,
          userKey,
        });
      });
      await store(added);
      all.push(...added);
      await rollUp(t.pool, Date.now(), 1 + random(3));
      if (random(2) === 0) await compactReach(t.pool);
      // A compaction that does not commit, as after a kill.
      await transaction(t.pool, async (executor) => {
        await executor.query('delete from reach_pending');
        throw new Error('killed');
      }).catch(() => {});
      const erased = all[random(all.length)] as Impression;
      const sessions = all.filter(({ userKey }) => userKey !== null && userKey === erased.userKey);
      await transaction(t.pool, (executor) =>
        eraseSessions(
          executor,
          sessions.map(({ sessionId, atMs, userKey }) => ({
            id: sessionId,
            day: dayOf(atMs),
            userKey,
            pubUserKeys: [],
          })),
          { nowMs: Date.now() } as Parameters<typeof eraseSessions>[2],
        ),
      );
      for (const session of sessions) session.userKey = null;
      await emptySessions(t.pool, [(all[random(all.length)] as Impression).sessionId]);
      expect(await unequal()).toEqual([]);
    }
    await rollUpAll(t);
    await compactReach(t.pool);
    expect(await unequal()).toEqual([]);
    const identified = all.filter(({ userKey }) => userKey !== null);
    expect(await total()).toEqual({
      users: new Set(identified.map(({ userKey }) => userKey)).size,
      impressions: identified.length,
      unknown: all.length - identified.length,
      isExact: true,
    });
    for (const groupBy of [['placement'], ['campaign'], ['offer', 'country'], ['device', 'os', 'placement']] as const)
      for (const filters of [{}, { placement: ['cart'] }, { campaign: [2], country: ['DE', 'unknown'] }]) {
        const bySketch = await count({ groupBy, filters });
        const byRow = await count({ groupBy, filters }, 'raw');
        expect(Object.fromEntries(bySketch.groups)).toEqual(Object.fromEntries(byRow.groups));
        expect(bySketch.total).toEqual(byRow.total);
      }
  },
  timeLimit(60_000),
);

test('after a change of the time zone, users are counted on the new days', async () => {
  const atMs = noonMs + 11 * 60 * minuteMs;
  await store([impression({ atMs }), impression({ atMs })]);
  await rollUpAll(t);
  await compactReach(t.pool);
  const yesterday = { from: dayOf(noonMs), to: dayOf(noonMs) };
  expect((await total(yesterday)).users).toBe(2);
  await t.pool.query("update publishers set time_zone = 'Asia/Tokyo' where id = $1", [publisherId]);
  for (; (await rebucketNext(t.pool, Date.now(), 30 * dayMs)).hasWork; );
  await compactReach(t.pool);
  const inTokyo = { ...yesterday, timeZone: 'Asia/Tokyo' };
  expect((await total(inTokyo)).users).toBe(0);
  const tomorrow = dayOf(noonMs + dayMs);
  expect((await total({ ...inTokyo, from: tomorrow, to: tomorrow })).users).toBe(2);
  expect(await unequal()).toEqual([]);
});

test(
  'with 40,000 users, reach, frequency and overlap are estimates with a small error',
  async () => {
    const random = createRandom();
    const users = Array.from({ length: 40_000 }, () => randomUUID());
    const half = users.slice(0, 20_000);
    const rows = (keys: readonly string[], campaignId: number, daysAgo: number): Impression[] =>
      keys.map((userKey) =>
        impression({
          atMs: noonMs - daysAgo * dayMs,
          userKey,
          campaignId,
          offerId: campaignId,
          placement: places[random(3)] as string,
        }),
      );
    await store(rows(users, 1, 0));
    await store(rows(half, 1, 1));
    await store(rows(half.slice(0, 1000), 2, 1));
    await rollUpAll(t);
    await compactReach(t.pool);
    const { groups, total: all } = await count({ groupBy: ['campaign'] });
    expect(Math.abs(all.users - 40_000)).toBeLessThan(40_000 * 0.03); // 3.8 standard errors
    expect(all).toMatchObject({ impressions: 61_000, isExact: false });
    expect(groups.get(userKeyOf(null, [2]))).toMatchObject({ users: 1000, isExact: true });

    const { distribution } = await countFrequency(t.pool, queryOf({ filters: { campaign: [1] } }), 'sketches');
    for (const [index, truth] of [20_000, 20_000, 0].entries())
      expect(Math.abs((distribution[index]?.users ?? 0) - truth)).toBeLessThanOrEqual(
        2 * (distribution[index]?.margin ?? 0),
      );

    const { pairs } = await countOverlap(t.pool, queryOf(), { source: 'sketches', limit: 10 });
    expect(pairs.map(({ campaigns }) => campaigns)).toEqual([[1, 2]]);
    const [{ users: both, margin }] = pairs as [(typeof pairs)[number]];
    expect(Math.abs(both - 1000)).toBeLessThanOrEqual(2 * margin);
  },
  timeLimit(60_000),
);

test('users by hour, in another time zone or by attribute are counted from stored raw rows', async () => {
  const userKey = randomUUID();
  await store([impression({ atMs: noonMs, userKey, plan: 'gold' }), impression({ atMs: noonMs, plan: 'free' })]);
  await rollUpAll(t);
  const gold = { customKey: 'plan', customValues: ['gold'] };
  const options = { nowMs: Date.now(), retentionRawDays: 30 };
  for (const query of [gold, { aggregatedBy: 'hour' }, { buckets: 'hour', timeZone: 'Europe/Berlin' }] as const) {
    expect(await userSourceOf(t.pool, queryOf(query), options)).toBe('raw');
    expect(await userSourceOf(t.pool, queryOf(query), { ...options, retentionRawDays: 1 })).toBeNull();
  }
  expect(await userSourceOf(t.pool, queryOf({ groupBy: ['custom'], customKey: 'plan' }), options)).toBeNull();
  expect((await count(gold, 'raw')).total).toMatchObject({ users: 1, impressions: 1 });
  await expect(countUsersOf(t.pool, queryOf(gold), { source: null, grouping: 'range' })).rejects.toMatchObject({
    code: 'invalid_request',
  });
});

test('frequency and overlap are the same from raw rows as from sketches, also with many users', limits, async () => {
  const random = createRandom();
  const users = Array.from({ length: 400 }, () => randomUUID());
  await store(
    Array.from({ length: 1500 }, () => {
      const campaignId = 1 + random(3);
      const userKey = random(10) === 0 ? null : (users[random(users.length)] as string);
      const plan = ['gold', 'free'][random(2)] as string;
      return impression({ atMs: noonMs - random(3) * dayMs, userKey, campaignId, offerId: campaignId, plan });
    }),
  );
  await rollUpAll(t);
  await compactReach(t.pool);
  const read = (query: Partial<ActivityQuery>, source: 'sketches' | 'raw') =>
    transaction(t.pool, async (executor) => ({
      frequency: await countFrequency(executor, queryOf(query), source),
      overlap: await countOverlap(executor, queryOf(query), { source, limit: 10 }),
      ofFirst: await countOverlap(executor, queryOf(query), { source, limit: 10, of: 1 }),
    }));
  for (const query of [{}, { filters: { campaign: [1, 2] } }, { from: dayOf(noonMs) }])
    expect(await read(query, 'raw')).toEqual(await read(query, 'sketches'));
  const { frequency } = await read({ customKey: 'plan', customValues: ['gold'] }, 'raw');
  expect(frequency.users).toBeGreaterThan(0);
  expect(frequency.users).toBeLessThan((await total()).users);
});

test('days that an earlier release has rolled up are counted from raw rows, and later days from sketches', async () => {
  await store([impression({ atMs: noonMs })]);
  await rollUpAll(t);
  const options = { nowMs: Date.now(), retentionRawDays: 30 };
  expect(await userSourceOf(t.pool, queryOf(), options)).toBe('sketches');
  await t.pool.query("update rollup_progress set rolled_up_at = rolled_up_at + interval '1 second'");
  await store([impression({ atMs: noonMs })]);
  await rollUpAll(t, noonMs);
  expect(await userSourceOf(t.pool, queryOf(), options)).toBe('raw');
  const today = { from: dayOf(noonMs + dayMs), to: dayOf(noonMs + dayMs) };
  expect(await userSourceOf(t.pool, queryOf(today), options)).toBe('sketches');

  const oldest = dayOf(options.nowMs - 28 * dayMs);
  expect(await usersFromDay(t.pool, queryOf(), options)).toBe(oldest);
  expect(await userSourceOf(t.pool, queryOf({ from: oldest }), options)).toBe('raw');
  expect(await userSourceOf(t.pool, queryOf({ from: dayOf(options.nowMs - 29 * dayMs) }), options)).toBeNull();
  expect(await usersFromDay(t.pool, queryOf(), null)).toBe(dayOf(noonMs + dayMs));
  await t.pool.query("update rollup_progress set reach_from = '-infinity'");
  expect(await usersFromDay(t.pool, queryOf(), options)).toBeNull();
  expect(await usersFromDay(t.pool, queryOf({ buckets: 'hour' }), options)).toBe(oldest);
});

test('a sketch contains five bytes of each keyed hash, and nothing of the user ID', async () => {
  const userKey = '0a0b0c0d-1111-4222-8333-44aabbccddee';
  await store([impression({ atMs: noonMs, userKey })]);
  await rollUpAll(t);
  await compactReach(t.pool);
  const { rows } = await t.pool.query<{ sketch: Buffer }>(
    'select sketch from reach_sketches where publisher_id = $1 and grain = 16',
    [publisherId],
  );
  expect(rows.map(({ sketch }) => sketch.subarray(7).toString('hex'))).toEqual(['aabbccddee000001']);
  const pending = await t.pool.query('select from reach_pending where publisher_id = $1', [publisherId]);
  expect(pending.rowCount).toBe(0);
});
