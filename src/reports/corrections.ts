import type { Executor } from '../platform/db/pool.ts';
import {
  addMetricsSql,
  addMoneySql,
  countNames,
  eachMetric,
  hasMoney,
  metricColumns,
  metricsOfEventsSql,
  moneyColumns,
  moneyMetrics,
  moneySumsSql,
  sumSql,
} from './metrics.ts';
import { allEventsSql, countedEventsSql, isRolledUp } from './rollup/events.ts';
import { customGrains, customMoneyKey, customRollupKey } from './rollup/keys.ts';
import { blockRollups } from './rollup/lock.ts';
import { reachErasedCte } from './rollup/reach.ts';
import { isRebucketed, otherValue, recountSql, zonedEventsCte } from './rollup/statement.ts';

const columnsOf = (table: string): string =>
  customRollupKey
    .split(', ')
    .map((name) => `${table}.${name}`)
    .join(', ');
const isSameRow = (a: string, b: string): string => `(${columnsOf(a)}) = (${columnsOf(b)})`;

/** Prefix of erased values in `custom_values`. It is followed by random digits. */
const erasedValue = 'erased ';

/*
 * $1: days, $2: sessions. Only events that are already rolled up have been counted under a value.
 *
 * The statement never subtracts more than a row contains, because some of the sessions may have been counted as `other`
 * from the start. A value whose counts reach 0 is deleted. In the list of known values, a random string replaces it.
 * Otherwise, another value that was counted as `other` until now would get its own row with only some of its counts.
 */
const moveToOtherSql = `
with counted_events as materialized (${countedEventsSql({
  condition: `t.day = any($1::date[]) and t.session_id = any($2::uuid[]) and ${isRolledUp}`,
  fromDay: '(select min(day) from unnest($1::date[]) as day)',
})}),
${zonedEventsCte(isRebucketed)},
erased_sums as ( -- what the sessions have counted under their values
  select publisher_id, attribute.key, grain, date_trunc(unit, at, zone) as bucket, attribute.value,
    ${metricsOfEventsSql}
  from zoned_events cross join lateral jsonb_each_text(custom) as attribute cross join ${customGrains}
  where kind <> 'served' and attribute.value <> '${otherValue}'
  group by 1, 2, 3, 4, 5
),
erased_money as (
  select publisher_id, attribute.key, grain, date_trunc(unit, at, zone) as bucket, attribute.value, currency,
    ${moneySumsSql}
  from zoned_events cross join lateral jsonb_each_text(custom) as attribute cross join ${customGrains}
  where ${hasMoney} and attribute.value <> '${otherValue}'
  group by 1, 2, 3, 4, 5, 6
),
moved as materialized ( -- of each row what moves to \`other\`, and whether nothing is left
  select ${columnsOf('kept')}, ${moneyMetrics.map((name) => `erased_sums.${name}`).join(', ')},
    ${countNames.map((name) => `least(kept.${name}, erased_sums.${name}) as ${name}`).join(', ')},
    ${countNames.map((name) => `kept.${name} <= erased_sums.${name}`).join(' and ')} as is_last
  from erased_sums join custom_rollups kept using (${customRollupKey})
),
money_moved as materialized (
  select ${customMoneyKey}, is_last, ${moneyMetrics
    .map((name) => `case when is_last then kept.${name} else coalesce(erased_money.${name}, 0) end as ${name}`)
    .join(', ')}
  from (select ${customRollupKey}, is_last from moved) as moved join custom_rollup_money kept using (${customRollupKey})
  left join erased_money using (${customMoneyKey})
),
money_reduced as (
  update custom_rollup_money kept set ${moneyMetrics
    .map((name) => `${name} = kept.${name} - money_moved.${name}`)
    .join(', ')}
  from money_moved where ${isSameRow('kept', 'money_moved')} and kept.currency = money_moved.currency and not is_last
),
money_deleted as (
  delete from custom_rollup_money kept using money_moved
  where ${isSameRow('kept', 'money_moved')} and kept.currency = money_moved.currency and is_last
),
other_money_written as (
  insert into custom_rollup_money as kept (${customMoneyKey}, ${moneyColumns})
  select publisher_id, key, grain, bucket, '${otherValue}', currency, ${moneySumsSql}
  from money_moved group by publisher_id, key, grain, bucket, currency
  on conflict (${customMoneyKey}) do update set ${addMoneySql}
),
${reachErasedCte},
counted_attributes as ( -- attributes of the sessions that are reported
  select distinct (at at time zone 'UTC')::date as day, publisher_id, attribute.key, session_id
  from counted_events cross join lateral jsonb_each_text(custom) as attribute
  where exists (
    select from custom_values known
    where (known.day, known.publisher_id, known.key)
      = ((at at time zone 'UTC')::date, counted_events.publisher_id, attribute.key)
  )
),
rows_reduced as (
  update custom_rollups kept set ${eachMetric((name) => `${name} = kept.${name} - moved.${name}`)}
  from moved where ${isSameRow('kept', 'moved')} and not is_last
),
rows_deleted as (
  delete from custom_rollups kept using moved where ${isSameRow('kept', 'moved')} and is_last
  returning ${columnsOf('kept')}, ${eachMetric((name) => `kept.${name}`)}
),
other_written as (
  insert into custom_rollups as kept (${customRollupKey}, ${metricColumns})
  select publisher_id, key, grain, bucket, '${otherValue}', ${eachMetric((name) => sumSql(name))} from (
    select ${customRollupKey}, ${metricColumns} from moved where not is_last
    union all
    select ${customRollupKey}, ${metricColumns} from rows_deleted
  ) as taken group by publisher_id, key, grain, bucket
  on conflict (${customRollupKey}) do update set ${addMetricsSql}
),
other_known as ( -- so that a recount of the sessions finds \`other\`
  insert into custom_values (day, publisher_id, key, value)
  select distinct day, publisher_id, key, '${otherValue}' from counted_attributes
  on conflict do nothing
),
values_replaced as (
  update custom_values known set value = '${erasedValue}' || gen_random_uuid() from (
    select distinct publisher_id, key, value, (at at time zone 'UTC')::date as day
    from counted_events cross join lateral jsonb_each_text(custom) as attribute
    where value <> '${otherValue}'
  ) as erased
  where (known.day, known.publisher_id, known.key, known.value)
      = (erased.day, erased.publisher_id, erased.key, erased.value)
    and not exists (
      select from custom_rollups kept
      where (kept.publisher_id, kept.key, kept.grain, kept.value) = (known.publisher_id, known.key, 0, known.value)
        and kept.bucket > known.day::timestamp at time zone 'UTC' - interval '1 hour'
        and kept.bucket < (known.day + 1)::timestamp at time zone 'UTC'
        and not exists (select from moved where ${isSameRow('moved', 'kept')} and is_last)
    )
)
select session_id as id, jsonb_object_agg(key, '${otherValue}') as attributes
from counted_attributes group by session_id`;

const lockPublishersSql = `
select from rollup_publishers where publisher_id in (
  select publisher_id from sessions where day = any($1::date[]) and id = any($2::uuid[])
) order by publisher_id for update`;

/**
 * Erases values of custom attributes from the rollups, and users from the sketches. Moves the counts of sessions that
 * are already rolled up to the value `other` and to unknown users, so totals do not change. Must run in the transaction
 * that removes the attributes from the sessions, before it removes them. Blocks rollups and compaction in the meantime,
 * because it would miss rows that they rewrite concurrently.
 * @returns the attributes to store for each session, all set to `other`, so that a recount matches the rollups
 */
export async function eraseAttributeValues(
  executor: Executor,
  days: readonly string[],
  sessionIds: readonly string[],
): Promise<Map<string, Record<string, string>>> {
  const values = [days, sessionIds];
  await executor.query(lockPublishersSql, values);
  await blockRollups(executor);
  const { rows } = await executor.query<{ id: string; attributes: Record<string, string> }>(moveToOtherSql, values);
  return new Map(rows.map(({ id, attributes }) => [id, attributes]));
}

/** $1: days, $2: session IDs. */
const eventsOfSessionsSql = allEventsSql({
  condition: `t.day = any($1::date[]) and t.session_id = any($2::uuid[]) and ${isRolledUp}`,
  fromDay: '(select min(day) from unnest($1::date[]) as day)',
});

const subtractSql = recountSql(eventsOfSessionsSql, '-', { reconciles: true });
const addSql = recountSql(eventsOfSessionsSql, '', { reconciles: true });

/**
 * Changes sessions, and recounts those that are already rolled up. It must run in its own transaction, which waits for
 * a running rollup.
 * @param change updates the rows of the sessions
 */
export async function changeSessions(
  executor: Executor,
  days: readonly string[],
  sessionIds: readonly string[],
  change: () => Promise<unknown>,
): Promise<void> {
  await blockRollups(executor);
  await executor.query(subtractSql, [days, sessionIds]);
  await change();
  await executor.query(addSql, [days, sessionIds]);
}
