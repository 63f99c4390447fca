import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordPoints } from '../../src/experiments/report/over-time.ts';
import { applyRetention } from '../../src/runtime/run-jobs.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf } from './support.ts';

let t: TestApp;
let api: ReturnType<typeof callsOf>;
let id: number;
const dayMs = 86_400_000;

/** Adds users who each spend about 10. Mobile users in arm `b` spend 30% more. */
const addUsers = (from: number, to: number) =>
  t.pool.query(
    `insert into experiment_units (experiment_id, version, arm, unit_key, first_at, sessions, would_see, revenue_micros,
      device, country)
    select $1, 1, case when n % 2 = 0 then 'control' else 'b' end, md5(n::text)::uuid, now(), 1, 1,
      (8000000 + (n / 6) % 97 * 40000) * case when n % 2 = 1 and n / 2 % 3 = 0 then 1.3 else 1 end,
      (array['mobile', 'desktop', 'tablet'])[1 + n / 2 % 3], case when n / 2 % 2 = 0 then 'DE' else '' end
    from generate_series($2::integer, $3::integer - 1) n`,
    [id, from, to],
  );

beforeAll(async () => {
  t = await createTestApp();
  api = callsOf(t);
  const arms = ['control', 'b'].map((key) => ({ key, share: 0.5, changes: {} }));
  await api.start({ key: 'days', arms });
  id = (await t.pool.query('select id from experiments')).rows[0].id;
});
afterAll(() => t.close());

async function report(query = '') {
  const { status, body } = await api.manage('GET', `/days/report${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
}
const dayOf = (atMs: number) => new Date(atMs).toISOString().slice(0, 10);

test('the report contains the lift of each day, and the first day with enough data', async () => {
  expect((await report()).over_time).toHaveLength(1);
  const now = Date.now();
  await t.pool.query("update experiments set started_at = now() - interval '5 days'");
  await addUsers(0, 150);
  await recordPoints(t.pool, now - 3 * dayMs);
  await addUsers(150, 2000);
  await recordPoints(t.pool, now - 2 * dayMs);
  await recordPoints(t.pool, now - 2 * dayMs);
  await addUsers(2000, 8000);
  const { over_time: days, enough_since, is_enough } = await report();
  expect(days.map(({ day }: { day: string }) => day)).toEqual([3, 2, 0].map((ago) => dayOf(now - ago * dayMs)));
  const [first, second, third] = days.map(
    ({ arms: [b] }: { arms: { lift: { low: number; high: number } | null }[] }) => b?.lift ?? null,
  );
  expect(first).toBeNull();
  expect(second.high - second.low).toBeGreaterThan(third.high - third.low);
  expect(days.map((day: { is_enough: boolean }) => day.is_enough)).toEqual([false, true, true]);
  expect([is_enough, enough_since]).toEqual([true, days[1].day]);
});

test('segments show the source of the lift, with intervals widened for multiple comparisons', async () => {
  expect((await report()).segments).toBeNull();
  const { segments, arms } = await report('?segment=device');
  expect(segments).toMatchObject({ by: 'device', comparisons: 3 });
  type Value = { value: string; arms: { arm: string; users: number; lift: { low: number; high: number } | null }[] };
  const liftOf = (value: string) => {
    const [, b] = segments.values.find((segment: Value) => segment.value === value).arms;
    return b.lift;
  };
  expect(liftOf('mobile').low).toBeGreaterThan(0.2);
  expect(liftOf('desktop').low).toBeLessThan(0);
  expect(liftOf('desktop').high).toBeGreaterThan(0);
  const users = segments.values.flatMap((segment: Value) => segment.arms.map((arm) => arm.users));
  expect(users.reduce((sum: number, count: number) => sum + count, 0)).toBe(arms[0].users + arms[1].users);
  const byCountry = (await report('?segment=country')).segments;
  expect(byCountry.values.map(({ value }: Value) => value).sort()).toEqual(['', 'DE']);
  const { status, body } = await api.manage('GET', '/days/report?segment=shoe');
  expect([status, body.error.details[0].path]).toEqual([400, '/querystring/segment']);
});

test('a finished experiment records no more daily points', async () => {
  await api.manage('POST', '/days/stop');
  await recordPoints(t.pool, Date.now() + dayMs);
  expect((await t.pool.query('select from experiment_points')).rowCount).toBe(2);
});

test('the report stays complete after the totals per user are deleted, including data from after the end', async () => {
  await t.pool.query(
    "update experiment_units set revenue_micros = revenue_micros + 1000000 where unit_key = md5('7')::uuid",
  );
  const [before, beforeAll] = [await report(), await report('?population=all')];
  const users = async () => (await t.pool.query('select from experiment_units')).rowCount;
  await applyRetention(t.contributions.modules, { ...t.deps, now: () => Date.now() + 80 * dayMs });
  expect(await users()).toBe(8000);
  await applyRetention(t.contributions.modules, { ...t.deps, now: () => Date.now() + 400 * dayMs });
  expect(await users()).toBe(0);
  const after = await report();
  const { over_time, enough_since } = after;
  expect(after).toEqual({ ...before, over_time, enough_since });
  expect((await report('?population=all')).arms).toEqual(beforeAll.arms);
  expect(over_time).toHaveLength(2);
  expect(over_time.at(-1).arms).toEqual(before.over_time.at(-1).arms);
  await applyRetention(t.contributions.modules, { ...t.deps, now: () => Date.now() + 401 * dayMs });
  expect(await report()).toEqual(after);
});
