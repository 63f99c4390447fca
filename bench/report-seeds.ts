import pg from 'pg';
import { metricNames } from '../src/reports/metrics.ts';
import { compactRollups } from '../src/reports/rollup/compact.ts';
import { dayBit, keptGrains, weekBit } from '../src/reports/rollup/grains.ts';
import type { Stage } from './stage.ts';
import { addWeeks } from './weeks.ts';

type Seeds = { publisherId: number; firstDay: string; days: number };

const eventsPerDay = 100_000_000 / 31;
const sizes = { placement: 20, offer: 50, country: 30, device: 10 };
const values = { plan: 20, shop: 1000 };

/** Share of the 300,000 dimension combinations that have activity on a given day. */
const shareOfAll = 0.3;

const series = (has: boolean, size: number): string => `generate_series(1, ${has ? size : 1})`;

/**
 * Returns the SQL that inserts a day's rollup rows as its events would have produced them. `at` is the time of day.
 * Values are evenly distributed within a factor of two.
 */
function grainSql(grain: number): string {
  const [hasPlacement, hasOffer, hasCountry, hasDevice] = [1, 2, 4, 8].map((bit) => (grain & bit) !== 0) as [
    boolean,
    boolean,
    boolean,
    boolean,
  ];
  const combinations =
    (hasPlacement ? sizes.placement : 1) *
    (hasOffer ? sizes.offer : 1) *
    (hasCountry ? sizes.country : 1) *
    (hasDevice ? sizes.device : 1);
  const share = (grain & 15) === 15 ? shareOfAll : 1;
  const buckets = grain & dayBit ? 1 : 24;
  return `
select ${grain}::smallint as grain, make_interval(hours => h) as at, ${hasPlacement ? "'p' || p" : "''"} as placement,
  ${hasOffer ? 'o' : 0} as offer_id,
  ${hasCountry ? "'C' || c" : "''"} as country, ${hasDevice ? "'d' || d" : "''"} as device,
  ${hasDevice ? "'os' || d % 3" : "''"} as os,
  ${hasOffer ? '(o + 1) / 2' : 0} as campaign_id, ${eventsPerDay / buckets / combinations / share} as events
from generate_series(0, ${buckets - 1}) h, ${series(hasPlacement, sizes.placement)} p,
  ${series(hasOffer, sizes.offer)} o,
  ${series(hasCountry, sizes.country)} c, ${series(hasDevice, sizes.device)} d
where random() < ${share}`;
}

/** Weekly rollups are added up from daily rollups. */
const seededGrains = keptGrains.filter((grain) => !(grain & weekBit));

const keySql = Object.entries(values).flatMap(([key, size]) =>
  [0, dayBit].map(
    (grain) => `
select ${grain}::smallint as grain, make_interval(hours => h) as at, '${key}' as key, 'v' || v as value,
  ${eventsPerDay / (grain === 0 ? 24 : 1) / size} as events
from generate_series(0, ${grain === 0 ? 23 : 0}) h, generate_series(1, ${size}) v`,
  ),
);

const metrics = metricNames.map((name) => `greatest(1, (events * 2 * random())::bigint) as ${name}`).join(', ');

/**
 * Fills the rollups of several days in the order in which the rollup job writes them, compacted except for the last
 * day.
 * @returns number of rollup rows
 */
export async function seedReports(
  { pool, databaseUrl }: Stage,
  { publisherId, firstDay, days }: Seeds,
): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("set work_mem = '256MB'");
    await client.query(
      `insert into rollup_publishers select id, time_zone, null, null, null, $2::date - 1
        from publishers where id = $1`,
      [publisherId, firstDay],
    );
    await client.query('select create_report_partitions($1::date - 1, $1::date + $2::integer)', [firstDay, days]);
    await client.query(
      `create temporary table one_day as select *, ${metrics} from (${seededGrains.map(grainSql).join(' union all ')})
        as rows order by at, random()`,
    );
    await client.query(
      `create temporary table key_day as select *, ${metrics} from (${keySql.join(' union all ')}) as rows order by at,
        random()`,
    );
    for (let day = 0; day < days; day++) {
      const bucket = `'${firstDay}'::timestamp at time zone 'UTC' + interval '${day} days' + at`;
      await client.query(
        `insert into rollups (publisher_id, grain, bucket, placement, offer_id, country, device, os, campaign_id,
          ${metricNames.join(', ')})
        select ${publisherId}, grain, ${bucket}, placement, offer_id, country, device, os, campaign_id,
          ${metricNames.join(', ')} from one_day`,
      );
      await client.query(
        `insert into custom_rollups (publisher_id, grain, bucket, key, value, ${metricNames.join(', ')})
        select ${publisherId}, grain, ${bucket}, key, value, ${metricNames.join(', ')} from key_day`,
      );
      await client.query(
        `insert into custom_values (day, publisher_id, key, value) select $1::date + $2::integer, $3, key, value
          from key_day where grain = ${dayBit}`,
        [firstDay, day, publisherId],
      );
    }
    await addWeeks(client);
    await client.query(
      `insert into reconciliation select $1::date + n, publisher, kind, reason, 10000
      from generate_series(0, $2::integer - 1) n, generate_series($3::integer, $3::integer + 499) publisher,
        (select 'filled' as kind, '' as reason union all select 'served', '' union all select 'empty', 'reason-' || r
          from generate_series(1, 5) r
        union all select kind, reason from unnest(array['impression', 'click', 'no_thanks', 'close', 'save']) kind,
          unnest(array['', 'bot', 'qr']) reason) what`,
      [firstDay, days, publisherId],
    );
    await compactRollups(pool, Date.parse(firstDay) + (days + 1) * 86_400_000);
    await client.query('vacuum analyze rollups');
    await client.query('vacuum analyze custom_rollups');
    const { rows } = await client.query<{ count: string }>(
      'select (select count(*) from rollups) + (select count(*) from custom_rollups) as count',
    );
    return Number(rows[0]?.count);
  } finally {
    await client.end();
  }
}
