import { addedSql, eachMetric, sumSql } from '../query/metrics.ts';
import { countsSql, quarterOf } from './events.ts';
import { dayBit } from './grains.ts';

/**
 * Values of one key that get rows of their own in a UTC day (count); all later ones are `other`, which may be one of
 * them.
 */
export const maxValues = 1000;
/** Keys of one publisher that are reported in a UTC day (count); whoever knows an SDK id can make up keys. */
export const maxKeys = 50;
/** A longer value is counted under `other` (characters). */
const maxValueLength = 128;

export const otherValue = 'other';

/** The value of an own key, or the name for long ones. */
export const namedValue = (value: string): string =>
  `case when char_length(${value}) > ${maxValueLength} then '${otherValue}' else ${value} end`;

const group = 'publisher_id, day, key';

/** The columns of a sum by an own key before its metrics. */
export const customRollupKey = 'publisher_id, key, grain, bucket, value';

/** The buckets that sums by an own key are kept by: hours and days of the publisher's time zone. */
export const customUnits = `(values (0::smallint, 'hour'), (${dayBit}::smallint, 'day')) as units (grain, unit)`;

/** Reads `placed`, gives `pairs`: sums by the values as they were sent. */
const pairsSql = `
pairs as (
  select publisher_id, zone, ${quarterOf('at')} as quarter, (${quarterOf('at')} at time zone 'UTC')::date as day, pair.key,
    ${namedValue('pair.value')} as value, ${countsSql}
  from placed cross join lateral jsonb_each_text(custom) as pair
  where custom is not null and kind <> 'shown'
  group by 1, 2, 3, 4, 5, 6
)`;

/** Gives `admitted`: values that get rows of their own from now on. */
const admittedSql = `
unknown as (
  select ${group}, value, row_number() over (partition by ${group} order by sum(sessions) desc, value) as place
  from pairs where not exists (
    select from custom_values known where (known.day, known.publisher_id, known.key, known.value) = (pairs.day, pairs.publisher_id, pairs.key, pairs.value)
  )
  group by ${group}, value
),
unknown_keys as (
  select ${group}, values_kept, keys_kept, row_number() over (partition by publisher_id, day, values_kept = 0 order by key) as place
  from (select distinct ${group} from unknown) as new_values
  cross join lateral (
    select count(*) filter (where known.key = new_values.key) as values_kept, count(distinct known.key) as keys_kept
    from custom_values known where known.day = new_values.day and known.publisher_id = new_values.publisher_id
  ) as kept
),
admitted as (
  insert into custom_values (day, publisher_id, key, value)
  select day, publisher_id, key, value from unknown join unknown_keys using (${group})
  where unknown.place + values_kept <= ${maxValues} and (values_kept > 0 or unknown_keys.place + keys_kept <= ${maxKeys})
  returning day, publisher_id, key, value
)`;

const nothingAdmittedSql = 'admitted as (select day, publisher_id, key, value from custom_values where false)';

/** Gives `named`: the sums of each value under the name it is reported by. */
const namedSql = `
named as (
  select publisher_id, zone, quarter, key, coalesce(found.value, '${otherValue}') as value, ${eachMetric((name) => `pairs.${name}`)}
  from pairs
  left join lateral (
    select value from admitted where (admitted.day, admitted.publisher_id, admitted.key, admitted.value) = (pairs.day, pairs.publisher_id, pairs.key, pairs.value)
    union all
    select value from custom_values known
    where (known.day, known.publisher_id, known.key, known.value) = (pairs.day, pairs.publisher_id, pairs.key, pairs.value)
  ) found on true
  where found.value is not null
    or exists (select from admitted where (admitted.day, admitted.publisher_id, admitted.key) = (pairs.day, pairs.publisher_id, pairs.key))
    or exists (select from custom_values known where (known.day, known.publisher_id, known.key) = (pairs.day, pairs.publisher_id, pairs.key))
)`;

const writtenSql = (sign: '' | '-'): string => `
custom_written as (
  insert into custom_rollups as kept (${customRollupKey}, ${eachMetric((name) => name)})
  select publisher_id, key, grain, date_trunc(unit, quarter, zone), value, ${eachMetric((name) => `${sign}${sumSql(name)}`)}
  from named cross join ${customUnits}
  group by 1, 2, 3, 4, 5
  on conflict (${customRollupKey}) do update set ${addedSql}
)`;

/** Common table expressions that read `placed` and keep the sums by the publisher's own keys, bounded. */
export const customSql = [pairsSql, admittedSql, namedSql, writtenSql('')].join(',');

/** Reads `placed`, gives `named`, of facts that are counted already, under the names they have. */
export const namedAgainSql = [pairsSql, nothingAdmittedSql, namedSql].join(',');

/** The same, which are added once more, or taken off. */
export const customAgainSql = (sign: '' | '-'): string => [namedAgainSql, writtenSql(sign)].join(',');
