import { afterAll, beforeAll, expect, test } from 'vitest';
import { armSums, type Population, readRows, type Segment } from '../../src/experiments/report/sums.ts';
import { noMoments } from '../../src/experiments/statistics/moments.ts';
import { addUpMomentsSql } from '../../src/experiments/sums/statements.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { callsOf } from './support.ts';

let t: TestApp;
let id: number;
beforeAll(async () => {
  t = await createTestApp();
  await callsOf(t).start({ key: 'sums', arms: [{ key: 'control', share: 0.5, changes: {} }] });
  id = (await t.pool.query('select id from experiments')).rows[0].id;
  await t.pool.query(
    `insert into experiment_units (experiment_id, version, arm, unit_key, first_at, sessions, would_see, perks, clicks,
      conversions, revenue_micros, before_clicks, before_revenue_micros, device, country)
    select $1, 1, (array['control', 'b', 'c'])[1 + n % 3], gen_random_uuid(), now(), 1 + n % 4, (n % 5) % 3, n % 2,
      n % 7, n % 3, case when n % 4 = 0 then (1000000 * exp((n % 97) / 10.0))::bigint + n else 0 end, n % 6, n * 1000,
      (array['mobile', 'desktop', ''])[1 + n % 3], (array['DE', 'US'])[1 + n % 2]
    from generate_series(1, 9000) n`,
    [id],
  );
  await t.pool.query(
    `insert into experiment_outcomes (experiment_id, version, arm, unit_key, sees, name, occurrences, value_micros,
      before_micros)
    select experiment_id, version, arm, unit_key, would_see > 0, 'order', (clicks > 1)::integer,
      case when clicks > 1 then 500 * hashtext(unit_key::text)::bigint else 0 end,
      1000000 * (hashtext('b' || unit_key::text) % 300)
    from experiment_units where clicks > 0`,
  );
});
afterAll(() => t.close());

/** Computes the reference result in one pass over all users, exactly as the rule is defined. */
async function byOnePass(population: Population, value: string | null) {
  const { rows } = await t.pool.query(
    `with cap as (
      select percentile_disc(0.999) within group (order by revenue_micros) as at from experiment_units
      where revenue_micros > 0
    )
    select arm, count(*)::int as users, sum(x) as sessions, sum(y) as y, sum(y * y) as yy, sum(x * y) as xy,
      sum(y * b) as yb, sum(b) as b, sum(b * b) as bb, sum(c) as clicks, sum(c * bc) as clicks_yb, sum(shown) as shown
    from (
      select arm, sessions::float8 as x, least(revenue_micros, cap.at)::float8 / 1e6 as y, clicks::float8 as c,
        before_revenue_micros::float8 / 1e6 as b, before_clicks::float8 as bc, would_see::float8 as shown
      from experiment_units cross join cap where ($1 = 'all' or would_see > 0) and ($2::text is null or device = $2)
    ) given group by 1 order by 1`,
    [population, value],
  );
  return rows;
}

async function byIncrements(population: Population, segment: Segment | null, value: string | null) {
  const rows = await readRows(t.pool, { experimentId: id, version: 1, segment });
  const segmentRows = rows.filter((row) => value === null || row.value === value);
  return armSums(segmentRows, population)
    .filter(({ metrics }) => metrics.clicks.n > 0)
    .map(({ arm, metrics: { revenue, clicks } }) => ({ arm, revenue, clicks }))
    .sort((a, b) => (a.arm < b.arm ? -1 : 1));
}

async function expectSame(): Promise<void> {
  for (const population of ['all', 'would_have_seen'] as const)
    for (const value of [null, 'mobile', 'desktop']) {
      const expected = await byOnePass(population, value);
      const sums = await byIncrements(population, value === null ? null : 'device', value);
      expect(sums.map(({ arm }) => arm)).toEqual(expected.map(({ arm }) => arm));
      for (const [at, { revenue, clicks }] of sums.entries()) {
        const expectedRow = expected[at];
        expect([revenue.n, revenue.x, clicks.y, clicks.yb]).toEqual([
          ...[expectedRow.users, expectedRow.sessions, expectedRow.clicks, expectedRow.clicks_yb],
        ]);
        for (const name of ['y', 'yy', 'xy', 'yb', 'b', 'bb'] as const)
          expect(revenue[name] / expectedRow[name], `${population} ${value} ${name}`).toBeCloseTo(1, 9);
      }
    }
}

test('incremental totals match one pass over all users, with the same cap on outliers', async () => {
  await expectSame();
  const units = 'experiment_units where hashtext(unit_key::text)';
  for (const text of [
    `update experiment_units set clicks = clicks + 3, revenue_micros = revenue_micros + 5000000, sessions = sessions + 1
      where hashtext(unit_key::text) % 11 = 0`,
    'update experiment_units set would_see = would_see + 1 where hashtext(unit_key::text) % 13 = 0',
    `update experiment_units set unit_key = gen_random_uuid() where hashtext(unit_key::text) % 17 = 0`,
    `delete from ${units} % 7 = 0`,
    addUpMomentsSql,
    `delete from ${units} % 5 = 0`,
    'update experiment_units set revenue_micros = 0 where revenue_micros > 900000000',
  ]) {
    await t.pool.query(text);
    await expectSame();
  }
  await t.pool.query(addUpMomentsSql);
  await expectSame();
  const { rows } = await t.pool.query(
    `select count(*)::int as rows, count(*) filter (where is_delta)::int as deltas from experiment_moments
    where segment = ''`,
  );
  expect(rows[0]).toEqual({ rows: 3 * 2 * 6 + 3 * 2, deltas: 0 });
});

/** Compares the totals of own outcomes with the result of one pass over all users. */
async function expectSameOutcomes(): Promise<void> {
  for (const population of ['all', 'would_have_seen'] as const) {
    const { rows: expected } = await t.pool.query(
      `with cap as (
        select percentile_disc(0.999) within group (order by value_micros) as at from experiment_outcomes
        where occurrences > 0
      )
      select u.arm, count(*)::int as n, sum(y) as y, sum(y * y) as yy, sum(b) as b, sum(b) as xb, sum(b * b) as bb,
        sum(y * b) as yb
      from (
        select u.arm, least(coalesce(o.value_micros, 0), cap.at)::float8 / 1e6 as y,
          coalesce(o.before_micros, 0)::float8 / 1e6 as b
        from experiment_units u cross join cap left join experiment_outcomes o on o.unit_key = u.unit_key
        where $1 = 'all' or u.would_see > 0
      ) u group by 1 order by 1`,
      [population],
    );
    const rows = await readRows(t.pool, { experimentId: id, version: 1, segment: null });
    const sums = armSums(rows, population).sort((a, b) => (a.arm < b.arm ? -1 : 1));
    expect(sums).toHaveLength(3);
    for (const [at, { outcomes, arm }] of sums.entries()) {
      const order = outcomes.get('order') ?? noMoments;
      expect(order.n, arm).toBe(expected[at].n);
      for (const name of ['y', 'yy', 'b', 'xb', 'bb', 'yb'] as const)
        expect(
          (order[name] - expected[at][name]) / (expected[at][name] || 1),
          `${population} ${arm} ${name}`,
        ).toBeCloseTo(0, 9);
    }
  }
}

test('own outcomes include earlier exposure and history, and count users without any as 0', async () => {
  await t.pool.query(
    'delete from experiment_outcomes o where not exists (select from experiment_units u where u.unit_key = o.unit_key)',
  );
  await expectSameOutcomes();
});

test('the history of an outcome is kept until the first user has the outcome again', async () => {
  const occurrences = (text: string) => t.pool.query(`update experiment_outcomes set ${text}`);
  await occurrences('occurrences = 0, value_micros = 0');
  await t.pool.query(addUpMomentsSql);
  await occurrences(`occurrences = 1, value_micros = 1000000 * (hashtext(unit_key::text) % 50) where arm <> 'c'`);
  await t.pool.query(addUpMomentsSql);
  await expectSameOutcomes();
});

test('removing the experiment removes its totals', async () => {
  await callsOf(t).end();
  for (const table of ['experiment_units', 'experiment_outcomes', 'experiment_moments'])
    expect((await t.pool.query(`select from ${table}`)).rowCount, table).toBe(0);
});
