import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { alwaysValidWidth } from '../../src/experiments/statistics/compare.ts';
import { dayMs } from '../../src/platform/lib/time.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf, collectAll } from './support.ts';

let t: TestApp;
let api: ReturnType<typeof callsOf>;
beforeAll(async () => {
  t = await createTestApp();
  api = callsOf(t);
});
afterEach(() => api.end());
afterAll(() => t.close());

const arm = (key: string, share: number) => ({ key, share, changes: {} });

/**
 * Creates an experiment with even-numbered users in the control arm and odd-numbered users in `b`. SQL expressions of
 * `n` define their data.
 */
async function withUsers(columns: Record<string, string>, users = 4000, shares = [0.5, 0.5]): Promise<void> {
  await api.start({ key: 'trust', arms: [arm('control', shares[0] ?? 0), arm('b', shares[1] ?? 0)] });
  const all: Record<string, string> = { would_see: '1', revenue_micros: '1000000 * (n / 2 % 5)', ...columns };
  await t.pool.query(
    `insert into experiment_units (experiment_id, version, arm, unit_key, first_at, sessions, ${Object.keys(all)})
    select e.id, 1, case when n % 2 = 0 then 'control' else 'b' end, gen_random_uuid(), now(), 1,
      ${Object.values(all)}
    from experiments e, generate_series(1, $1::integer) n where e.key = 'trust'`,
    [users],
  );
}

async function report(query = '') {
  await collectAll(t);
  const { status, body } = await api.manage('GET', `/trust/report${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
}

test.each([
  ['clicks', { before_clicks: 'n / 2 % 7 + n % 2' }],
  ['revenue', { before_revenue_micros: '1000000 * (n / 2 % 7 + n % 2)' }],
])('reports an arm whose users had more %s before the experiment', async (_what, columns) => {
  await withUsers(columns);
  const { before_exposure, sample_ratio } = await report();
  expect(before_exposure).toEqual({ is_wrong: true, arms: ['b'] });
  expect(sample_ratio.is_wrong).toBe(false);
});

test('reports no difference for users with the same history, which lowers the number of users needed', async () => {
  await withUsers({ before_clicks: 'n / 2 % 7', before_revenue_micros: '1000000 * (n / 2 % 3)' });
  const unrelated = await report();
  expect(unrelated.before_exposure).toEqual({ is_wrong: false, arms: [] });
  await api.end();
  await withUsers({ before_revenue_micros: '1000000 * (n / 2 % 5) + 1000000 * (n / 10 % 2)' });
  const related = await report();
  expect(related.explained_by_history).toBeGreaterThan(0.5);
  expect(related.users_needed).toBeLessThan(0.5 * unrelated.users_needed);
});

test('detects an arm that changes who sees an offer, if only those users are compared', async () => {
  await withUsers({ would_see: 'case when n % 4 = 1 then 0 else 1 end' });
  expect((await report()).seen_ratio).toBeNull();
  const { seen_ratio, sample_ratio } = await report('?population=would_have_seen');
  expect(seen_ratio.is_wrong).toBe(true);
  expect(sample_ratio.is_wrong).toBe(false);
});

test('the number of users needed depends on the shares and on the users who are compared', async () => {
  await withUsers({});
  await t.pool.query("update experiments set started_at = now() - interval '4 days'");
  const even = await report();
  expect(even.users_counted).toBe(4000);
  await api.end();
  await withUsers({ would_see: 'n / 2 % 2' }, 4000, [0.95, 0.05]);
  const uneven = await report('?population=would_have_seen');
  expect(uneven.users_needed).toBeGreaterThan(3 * even.users_needed);
  expect(uneven.users_counted).toBe(2000);
});

test('intervals are wider with more arms, so that the overall error rate stays the same', async () => {
  const width = async (others: string[]): Promise<number> => {
    await withUsers({});
    const share = 1 / (2 + others.length);
    const arms = JSON.stringify(['control', 'b', ...others].map((key) => arm(key, share)));
    await t.pool.query("update experiments set versions = jsonb_set(versions, '{0,arms}', $1)", [arms]);
    const [, b] = (await report()).arms;
    await api.end();
    const { low, high } = b.metrics.revenue_per_1000_sessions.difference;
    return high - low;
  };
  const [alone, amongFour] = [await width([]), await width(['c', 'd', 'e'])];
  expect(amongFour / alone).toBeCloseTo(alwaysValidWidth(4000, 0.05 / 4) / alwaysValidWidth(4000, 0.05), 6);
});

const outcome = async (id: string, fields: object) => {
  const sent = { pub_user_id: 'late', name: 'order', value: 1, id, ...fields };
  expect((await api.call('POST', '/manage/v1/outcomes', sent)).status).toBe(202);
};
const outcomes = async (query = '') =>
  Object.fromEntries((await report(query)).arms.flatMap((arm: { outcomes: object }) => Object.entries(arm.outcomes)));

test('a late outcome counts for the version that ran at its time, by currency', async () => {
  await api.start({ key: 'trust', arms: [arm('b', 1)] });
  await t.pool.query(
    `update experiments set started_at = now() - interval '1 day',
      versions = jsonb_set(versions, '{0,at}', to_jsonb((now() - interval '1 day')::text))`,
  );
  await api.fetch({ pub_user_id: 'late' });
  await collectAll(t);
  await t.pool.query("update experiment_units set first_at = now() - interval '1 day'");
  await api.manage('PATCH', '/trust', { arms: [arm('b', 0.9), arm('c', 0.1)] });
  const at = new Date(t.deps.now() - 3_600_000).toISOString();
  await outcome('euro', { at, value: 20, currency: 'EUR' });
  await outcome('dollar', { at, value: 30, currency: 'USD' });
  await outcome('none', { at });
  const before = await outcomes('?version=1');
  expect(
    Object.fromEntries(Object.entries(before).map(([name, estimate]) => [name, (estimate as { value: number }).value])),
  ).toEqual({ 'order EUR': 20, 'order USD': 30, order: 1 });
  expect(await outcomes()).toEqual({});
});

test('outcomes after the end of an experiment are not counted', async () => {
  await api.start({ key: 'trust', arms: [arm('b', 1)] });
  await api.fetch({ pub_user_id: 'late' });
  await collectAll(t);
  await t.pool.query("update experiments set end_at = now() - interval '1 minute'");
  await t.pool.query("update experiment_units set first_at = now() - interval '1 hour'");
  await outcome('after', {});
  expect(await outcomes()).toEqual({});
});

test('effects of an earlier version do not count as history of a later one', async () => {
  await api.start({ key: 'trust', arms: [arm('b', 1)] });
  const book = (session: string) =>
    t.pool.query(
      `insert into bookings (day, session_id, id, publisher_id, offer_id, campaign_id, at, conversions, revenue_micros)
      select day, id, gen_random_uuid(), publisher_id, 1, 1, now(), 1, 5000000 from sessions where id = $1`,
      [session],
    );
  const { session_id } = await api.fetch({ pub_user_id: 'returns' });
  await collectAll(t);
  await book(session_id);
  await collectAll(t);
  await api.manage('PATCH', '/trust', { arms: [arm('b', 0.9), arm('c', 0.1)] });
  await api.fetch({ pub_user_id: 'returns' });
  await collectAll(t);
  const { rows } = await t.pool.query(
    'select version, revenue_micros::int, before_revenue_micros::int from experiment_units order by version',
  );
  expect(rows).toEqual([
    { version: 1, revenue_micros: 5_000_000, before_revenue_micros: 0 },
    { version: 2, revenue_micros: 0, before_revenue_micros: 0 },
  ]);
});

test('outcomes of the two weeks before an experiment are history by currency, and not outcomes', async () => {
  await api.start({ key: 'trust', arms: [arm('b', 1)] });
  const early = (id: string, days: number, fields: object) =>
    outcome(id, { pub_user_id: 'early', at: new Date(t.deps.now() - days * dayMs).toISOString(), ...fields });
  await early('yesterday', 1, { value: 20, currency: 'EUR' });
  await early('before', 2, { value: 5, currency: 'EUR' });
  await early('another', 2, { value: 7 });
  await early('old', 15, { value: 99, currency: 'EUR' });
  await api.fetch({ pub_user_id: 'early' });
  expect(await outcomes()).toEqual({});
  await early('now', 0, { value: 30, currency: 'EUR' });
  expect(Object.keys(await outcomes())).toEqual(['order EUR']);
  await api.manage('PATCH', '/trust', { arms: [arm('b', 0.9), arm('c', 0.1)] });
  await api.fetch({ pub_user_id: 'early' });
  await collectAll(t);
  const { rows } = await t.pool.query(
    `select version, name, occurrences, value_micros::int / 1000000 as value, before_micros::int / 1000000 as before
    from experiment_outcomes order by version, name`,
  );
  expect(rows).toEqual([
    { version: 1, name: 'order', occurrences: 0, value: 0, before: 7 },
    { version: 1, name: 'order EUR', occurrences: 1, value: 30, before: 25 },
    { version: 2, name: 'order', occurrences: 0, value: 0, before: 7 },
    { version: 2, name: 'order EUR', occurrences: 0, value: 0, before: 25 },
  ]);
});

test('the history of an outcome narrows its interval', async () => {
  const width = async (before: string): Promise<number> => {
    await withUsers({});
    await t.pool.query(
      `insert into experiment_outcomes (experiment_id, version, arm, unit_key, sees, name, occurrences, value_micros,
        before_micros)
      select experiment_id, version, arm, unit_key, true, 'order', 1, 1000000 * (n % 9 + n / 9 % 3), ${before}
      from (select *, row_number() over (order by unit_key) as n from experiment_units) u`,
    );
    const [, b] = (await report()).arms;
    await api.end();
    return b.outcomes.order.difference.high - b.outcomes.order.difference.low;
  };
  expect(await width('1000000 * (n % 9)')).toBeLessThan(0.5 * (await width('0')));
});
