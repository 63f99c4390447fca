import { metricNames } from '../src/reports/metrics.ts';
import { compactRollups } from '../src/reports/rollup/compact.ts';
import { dayBit, dimensionBits } from '../src/reports/rollup/grains.ts';
import type { Stage } from './stage.ts';
import { addMoney, addWeeks } from './weeks.ts';

type Seeds = { publisherId: number; firstDay: string; days: number };

const { placement, offer, country, device } = dimensionBits;

/** Report grains that pages and the explorer read. `hours` is the number of time buckets per day. */
const grains = [
  { grain: 0, hours: 24 },
  ...[placement, country, device, placement | country].flatMap((grain) => [
    { grain, hours: 24 },
    { grain: grain | dayBit, hours: 1 },
  ]),
  // Each day, offers have rollup rows in three hours, distributed over all offers.
  { grain: offer, hours: 3 },
  { grain: offer | dayBit, hours: 1 },
  { grain: placement | offer, hours: 3 },
  { grain: placement | offer | dayBit, hours: 1 },
] as const;

const metrics = metricNames.map(() => `greatest(1, (90 * random())::bigint)`).join(', ');

function grainSql({ grain, hours }: (typeof grains)[number]): string {
  const has = (bit: number): boolean => (grain & bit) !== 0;
  const at = hours === 3 ? '(o.id + 7 * h) % 24' : 'h';
  return `
insert into rollups (publisher_id, grain, bucket, placement, offer_id, country, device, os, campaign_id,
  ${metricNames.join(', ')})
select $1, ${grain}, $2::date::timestamp at time zone 'UTC' + make_interval(hours => ${at}),
  ${has(placement) ? "case p when 1 then 'checkout' else 'page-' || p end" : "''"}, ${has(offer) ? 'o.id' : 0},
  ${has(country) ? "'C' || c" : "''"}, ${has(device) ? "'d' || d" : "''"}, ${has(device) ? "'os' || d % 3" : "''"},
  ${has(offer) ? 'o.campaign_id' : 0}, ${metrics}
from generate_series(0, ${hours - 1}) h, generate_series(1, ${has(placement) ? 2 : 1}) p,
  generate_series(1, ${has(country) ? 30 : 1}) c, generate_series(1, ${has(device) ? 8 : 1}) d,
  ${has(offer) ? 'offers o where o.publisher_id = $1' : '(values (0)) o where $1 > 0'}`;
}

/**
 * Inserts rollup rows for every offer of a publisher and every day, compacted like the server's own rows.
 * @returns number of rows
 */
export async function seedOfferSums({ pool }: Stage, { publisherId, firstDay, days }: Seeds): Promise<number> {
  const firstMs = Date.parse(firstDay);
  await pool.query(
    `insert into rollup_publishers select id, time_zone, null, null, null, $2::date - 1 from publishers where id = $1`,
    [publisherId, firstDay],
  );
  await pool.query('select create_report_partitions($1::date - 1, $1::date + $2::integer)', [firstDay, days]);
  for (let day = 0; day < days; day++)
    for (const grain of grains)
      await pool.query(grainSql(grain), [publisherId, new Date(firstMs + day * 86_400_000).toISOString().slice(0, 10)]);
  await addWeeks(pool);
  await addMoney(pool);
  await compactRollups(pool, firstMs + (days + 1) * 86_400_000);
  await pool.query('vacuum analyze rollups, rollup_money');
  const { rows } = await pool.query<{ count: string }>('select count(*) from rollups');
  return Number(rows[0]?.count);
}
