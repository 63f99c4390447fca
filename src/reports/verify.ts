import type pg from 'pg';
import { hasMoney, metricNames, moneyMetrics, moneySumsSql, sumsSql } from './metrics.ts';
import { verifyReach } from './reach/verify.ts';
import { allEventsSql, isRolledUp, longestDays } from './rollup/events.ts';
import { weekBit } from './rollup/grains.ts';
import { customGrains, moneyKey, rollupKey } from './rollup/keys.ts';
import { computedSumsCtes, reconciliationKey } from './rollup/statement.ts';
import { moneyWeeksOfDaysSql, weekStartSql, weeksOfDaysSql } from './rollup/weeks.ts';

/**
 * Rollup that differs from the raw rows. `differences` has an entry in the form `column: stored → computed` for each
 * differing value.
 */
export type Difference = { rollup: string; differences: string[] };

export type Verification = {
  /** Number of rollups that were compared. */
  compared: number;
  /** Differences found, at most 100 for each kind of rollup. */
  differences: Difference[];
};

/** Kind of rollup to verify. `stored` and `computed` are queries that return the key columns and the values. */
type Kind = {
  key: string;
  counts: readonly string[];
  isRight: (count: string) => string;
  events: string;
  stored: string;
  computed: string;
};

const isEqual = (count: string): string => `stored_${count} = computed_${count}`;

const inDays = `bucket >= $1::date::timestamp at time zone 'UTC'
  and bucket < ($2::date + 1)::timestamp at time zone 'UTC'`;

/**
 * $1, $2: first and last UTC day. Two more days are read, because the last days end later in time zones west of
 * Greenwich.
 */
const eventsOfDays = `
select * from (${allEventsSql({ condition: isRolledUp, fromDay: `$1::date - ${longestDays}` })}) as all_events
where at >= $1::date::timestamp at time zone 'UTC' and at < ($2::date + 3)::timestamp at time zone 'UTC'`;

const rollups: Kind = {
  key: rollupKey,
  counts: metricNames,
  isRight: isEqual,
  events: eventsOfDays,
  stored: `select * from rollups where grain < ${weekBit} and ${inDays}`,
  computed: `select * from grain_sums where grain < ${weekBit} and ${inDays}`,
};

const money: Kind = {
  key: moneyKey,
  counts: moneyMetrics,
  isRight: isEqual,
  events: eventsOfDays,
  stored: `select * from rollup_money where grain < ${weekBit} and ${inDays}`,
  computed: `select * from money_sums where grain < ${weekBit} and ${inDays}`,
};

const firstWeek = weekStartSql(`($1::date::timestamp at time zone 'UTC')`);
const afterLast = `($2::date + 1)::timestamp at time zone 'UTC'`;

/**
 * Weekly rollups for the weeks that contain the days. They are compared with the sum of all stored daily rollups in
 * these weeks, because raw rows may no longer exist for every day.
 */
const weeks: Kind = {
  key: rollupKey,
  counts: metricNames,
  isRight: isEqual,
  events: eventsOfDays,
  stored: `select * from rollups where grain >= ${weekBit} and bucket >= ${firstWeek} and bucket < ${afterLast}`,
  computed: weeksOfDaysSql(`bucket >= ${firstWeek} and ${weekStartSql('bucket')} < ${afterLast}`),
};

const moneyWeeks: Kind = {
  ...money,
  stored: `select * from rollup_money where grain >= ${weekBit} and bucket >= ${firstWeek} and bucket < ${afterLast}`,
  computed: moneyWeeksOfDaysSql(`bucket >= ${firstWeek} and ${weekStartSql('bucket')} < ${afterLast}`),
};

const customKey = 'publisher_id, key, grain, bucket';

/**
 * Rollups for each attribute, summed over all of its values. Single values cannot be compared: which values have their
 * own rows depends on their order of arrival and on erasures.
 */
const customRollups: Kind = {
  key: customKey,
  counts: metricNames,
  isRight: isEqual,
  events: eventsOfDays,
  stored: `select ${customKey}, ${sumsSql} from custom_rollups where ${inDays} group by ${customKey}`,
  computed: `
select * from (
  select publisher_id, key, grain, date_trunc(unit, quarter_hour, zone) as bucket, ${sumsSql}
  from named_sums cross join ${customGrains} group by 1, 2, 3, 4
) as summed where ${inDays}`,
};

const customMoney: Kind = {
  key: `${customKey}, currency`,
  counts: moneyMetrics,
  isRight: isEqual,
  events: eventsOfDays,
  stored: `select ${customKey}, currency, ${moneySumsSql} from custom_rollup_money where ${inDays}
    group by ${customKey}, currency`,
  computed: `
select * from (
  select publisher_id, key, grain, date_trunc(unit, quarter_hour, zone) as bucket, currency, ${moneySumsSql}
  from named_sums cross join ${customGrains} where ${hasMoney} group by 1, 2, 3, 4, 5
) as summed where ${inDays}`,
};

/** Raw rows for dev sessions are deleted after a day, so there may be fewer of them than the reconciliation counted. */
const reconciliation: Kind = {
  key: reconciliationKey,
  counts: ['count'],
  isRight: (count) => `(${isEqual(count)} or reason = 'dev' and stored_${count} > computed_${count})`,
  events: allEventsSql({ condition: `${isRolledUp} and t.day <= $2::date`, fromDay: '$1::date' }),
  stored: 'select * from reconciliation where day between $1::date and $2::date',
  computed: 'select * from outcomes',
};

const bothOf = (count: string): string =>
  `coalesce(stored.${count}, 0) as stored_${count}, coalesce(computed.${count}, 0) as computed_${count}`;

const compareSql = ({ key, counts, isRight, events, stored, computed }: Kind): string => `
with ${computedSumsCtes(events)},
computed as (${computed}),
stored as (${stored}),
compared as (select ${key}, ${counts.map(bothOf).join(', ')} from stored full join computed using (${key})),
wrong as (select * from compared where not (${counts.map(isRight).join(' and ')}))
select (select count(*)::int from compared) as compared,
  coalesce((select json_agg(first) from (select * from wrong limit 100) as first), '[]') as wrong`;

type WrongRow = Record<string, string | number>;

/**
 * Recomputes the rollups for a range of UTC days from the raw rows, and compares them with the stored rollups. Reads
 * everything, including the progress of the rollups, in a single snapshot, so that the result is correct even during
 * traffic. The raw rows for these days, and for sessions up to 64 days earlier, must still exist. A void may belong to
 * an even older session.
 */
export async function verifyRollups(client: pg.ClientBase, from: string, to: string): Promise<Verification> {
  await client.query('begin transaction isolation level repeatable read, read only');
  try {
    await client.query("set local work_mem = '256MB'; set local jit = off");
    const all: Verification = { compared: 0, differences: [] };
    for (const kind of [rollups, money, weeks, moneyWeeks, customRollups, customMoney, reconciliation]) {
      const { rows } = await client.query<{ compared: number; wrong: WrongRow[] }>(compareSql(kind), [from, to]);
      all.compared += rows[0]?.compared ?? 0;
      all.differences.push(...(rows[0]?.wrong ?? []).map((row) => toDifference(row, kind)));
    }
    const reach = await verifyReach(client, computedSumsCtes(eventsOfDays), [from, to]);
    all.compared += reach.compared;
    all.differences.push(...reach.differences);
    return all;
  } finally {
    await client.query('rollback');
  }
}

function toDifference(row: WrongRow, { key, counts }: Kind): Difference {
  const differences = counts.flatMap((name) => {
    const [stored, computed] = [row[`stored_${name}`], row[`computed_${name}`]];
    return stored === computed ? [] : [`${name}: ${stored} → ${computed}`];
  });
  return {
    rollup: key
      .split(', ')
      .map((column) => `${column}=${row[column]}`)
      .join(' '),
    differences,
  };
}
