import type { Executor } from '../../platform/db/pool.ts';
import { addedSql, eachMetric, metricNames, sumSql } from '../query/metrics.ts';
import { customRollupKey, customUnits, otherValue } from './custom-attributes.ts';
import { countsSql, factsSql, isFolded } from './events.ts';
import { holdFolds } from './recount.ts';
import { placedSql } from './sums.ts';

const row = customRollupKey;
const isSame = (a: string, b: string): string => `(${columnsOf(a)}) = (${columnsOf(b)})`;
const columnsOf = (table: string): string =>
  row
    .split(', ')
    .map((name) => `${table}.${name}`)
    .join(', ');

/** What stands for an erased value begins so. */
const erasedValue = 'erased ';

/** What folds have counted of these sessions; the rest was never counted under a value. $1: days, $2: sessions. */
const isMeant = `t.day = any($1::date[]) and t.session_id = any($2::uuid[]) and ${isFolded}`;

/*
 * No more than a row has can be taken from it: some of the sessions may have been counted under `other` from the start.
 * A value that is left without any count goes, also from the list of known ones, where something else keeps its place:
 * another value
 * that was counted under `other` until now would get a row of its own, with a part of its counts. The sessions keep the
 * names of the
 * keys, so that they are counted under `other` wherever they are counted again, and `other` is a known value of these
 * keys.
 */
const moveSql = `
with facts as materialized (${factsSql(isMeant, '(select min(day) from unnest($1::date[]) as day)')}),
${placedSql},
mine as (
  select publisher_id, pair.key, grain, date_trunc(unit, at, zone) as bucket, pair.value, ${countsSql}
  from placed cross join lateral jsonb_each_text(custom) as pair cross join ${customUnits}
  where kind <> 'shown' and pair.value <> '${otherValue}'
  group by 1, 2, 3, 4, 5
),
moved as materialized (
  select ${columnsOf('kept')},
    ${eachMetric((name) => (name === 'revenue_micros' ? `mine.${name}` : `least(kept.${name}, mine.${name}) as ${name}`))},
    ${metricNames
      .filter((name) => name !== 'revenue_micros')
      .map((name) => `kept.${name} <= mine.${name}`)
      .join(' and ')} as is_last
  from mine join custom_rollups kept using (${row})
),
counted_pairs as (
  select distinct (at at time zone 'UTC')::date as day, publisher_id, pair.key, facts.day as session_day, session_id
  from facts cross join lateral jsonb_each_text(custom) as pair
  where exists (
    select from custom_values known where (known.day, known.publisher_id, known.key) = ((at at time zone 'UTC')::date, facts.publisher_id, pair.key)
  )
),
counted_down as (
  update custom_rollups kept set ${eachMetric((name) => `${name} = kept.${name} - moved.${name}`)}
  from moved where ${isSame('kept', 'moved')} and not is_last
),
gone as (
  delete from custom_rollups kept using moved where ${isSame('kept', 'moved')} and is_last
  returning ${columnsOf('kept')}, ${eachMetric((name) => `kept.${name}`)}
),
counted_up as (
  insert into custom_rollups as kept (${row}, ${eachMetric((name) => name)})
  select publisher_id, key, grain, bucket, '${otherValue}', ${eachMetric((name) => sumSql(name))} from (
    select ${row}, ${eachMetric((name) => name)} from moved where not is_last union all select * from gone
  ) as taken group by publisher_id, key, grain, bucket
  on conflict (${row}) do update set ${addedSql}
),
others_known as (
  insert into custom_values (day, publisher_id, key, value)
  select distinct day, publisher_id, key, '${otherValue}' from counted_pairs
  on conflict do nothing
),
replaced as (
update custom_values known set value = '${erasedValue}' || gen_random_uuid() from (
  select distinct publisher_id, key, value, (at at time zone 'UTC')::date as day from facts cross join lateral jsonb_each_text(custom) as pair
  where value <> '${otherValue}'
) as left_behind
where (known.day, known.publisher_id, known.key, known.value) = (left_behind.day, left_behind.publisher_id, left_behind.key, left_behind.value)
  and not exists (
    select from custom_rollups kept
    where (kept.publisher_id, kept.key, kept.grain, kept.value) = (known.publisher_id, known.key, 0, known.value)
      and kept.bucket > known.day::timestamp at time zone 'UTC' - interval '1 hour' and kept.bucket < (known.day + 1)::timestamp at time zone 'UTC'
      and not exists (select from moved where ${isSame('moved', 'kept')} and is_last)
  )
)
select session_id as id, jsonb_object_agg(key, '${otherValue}') as attributes from counted_pairs group by session_id`;

const holdPublishersSql = `
select from rollup_publishers where publisher_id in (select publisher_id from sessions where day = any($1::date[]) and id = any($2::uuid[]))
order by publisher_id for update`;

/**
 * Counts sessions under `other` instead of the values of their custom attributes, as far as they were counted; no sum
 * changes. Must run in the transaction that removes the attributes from the sessions, before it does. No rollup and no
 * compaction runs meanwhile: it would miss rows that are rewritten at the same time.
 * @returns by session the attributes that it must keep, all `other`, so that a recount finds what was counted
 */
export async function eraseAttributeValues(
  executor: Executor,
  days: readonly string[],
  sessionIds: readonly string[],
): Promise<Map<string, Record<string, string>>> {
  await executor.query(holdPublishersSql, [days, sessionIds]);
  await holdFolds(executor);
  const { rows } = await executor.query<{ id: string; attributes: Record<string, string> }>(moveSql, [
    days,
    sessionIds,
  ]);
  return new Map(rows.map(({ id, attributes }) => [id, attributes]));
}
