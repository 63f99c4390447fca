import type pg from 'pg';
import { transaction } from '../../platform/db/pool.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { addMoneySql, hasMoney, moneyColumns, moneySumsSql } from '../metrics.ts';
import { grainColumns, grainOfGroupSql, keptGrains } from './grains.ts';
import { customGrains, customMoneyKey, moneyKey } from './keys.ts';
import { blockRollups } from './lock.ts';

/* Sums of amounts by currency, as common table expressions of the rollup statement (`statement.ts`). */

/* Amounts for the same grains, by currency. */
export const moneySumsCte = `
money_sums as (
  select publisher_id,
    (${grainOfGroupSql})::smallint as grain,
    coalesce(hour_start, day_start, week_start) as bucket,
    coalesce(placement, '') as placement, coalesce(offer_id, 0) as offer_id, coalesce(country, '') as country,
    coalesce(device, '') as device, coalesce(os, '') as os, currency,
    case when grouping(offer_id) = 0 then max(campaign_id) else 0 end as campaign_id, ${moneySumsSql}
  from base_sums where ${hasMoney}
  group by grouping sets (${keptGrains.map((grain) => `(${grainColumns(grain)}, currency)`).join(', ')})
)`;

export const moneyWrittenCte = `
money_written as (
  insert into rollup_money as kept (${moneyKey}, campaign_id, ${moneyColumns})
  select ${moneyKey}, campaign_id, ${moneyColumns} from money_sums
  on conflict (${moneyKey}) do update set ${addMoneySql}
)`;

export const customMoneyWrittenCte = `
custom_money_written as (
  insert into custom_rollup_money as kept (${customMoneyKey}, ${moneyColumns})
  select publisher_id, key, grain, date_trunc(unit, quarter_hour, zone), value, currency, ${moneySumsSql}
  from named_sums cross join ${customGrains} where ${hasMoney}
  group by 1, 2, 3, 4, 5, 6
  on conflict (${customMoneyKey}) do update set ${addMoneySql}
)`;

export const minuteMoneyWrittenCte = (minutesFrom: string): string => `
minute_money_written as (
  insert into minute_money as kept (publisher_id, minute, currency, ${moneyColumns})
  select publisher_id, at, currency, ${moneySumsSql} from counted_events
  where at >= ${minutesFrom} and ${hasMoney} group by 1, 2, 3
  on conflict (publisher_id, minute, currency) do update set ${addMoneySql}
)`;

/** Number of past days to check. It allows for an earlier release that has been running for some time. */
const comparedDays = 40;

/** SQL for the first month in which the amounts by currency do not match the total amounts. */
const incompleteSql = `
select min(month) as since from publishers p cross join lateral (
  select month, sum(revenue) as revenue, sum(unbilled) as unbilled from (
    select date_trunc('month', bucket, 'UTC') as month, revenue_micros as revenue, unbilled_micros as unbilled
    from rollups where publisher_id = p.id and grain = 0 and bucket >= $1
    union all
    select date_trunc('month', bucket, 'UTC'), -revenue_micros, -unbilled_micros
    from rollup_money where publisher_id = p.id and grain = 0 and bucket >= $1
  ) as sums group by month
) as months where revenue <> 0 or unbilled <> 0`;

/**
 * Adds the currency to amounts that processes of the previous release rolled up without one. This can happen during a
 * rolling update or after a rollback.
 */
export async function completeMoney(pool: pg.Pool, nowMs: number): Promise<void> {
  const from = new Date(nowMs - comparedDays * dayMs);
  const { rows } = await pool.query<{ since: Date | null }>(incompleteSql, [from]);
  const since = rows[0]?.since ?? null;
  if (since === null) return;
  await transaction(pool, async (executor) => {
    await blockRollups(executor);
    await executor.query("select complete_rollup_money($1, 'infinity')", [since]);
  });
}
