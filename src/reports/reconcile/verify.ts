import type pg from 'pg';
import { eachMetric, metricNames, sumSql } from '../query/metrics.ts';
import { customUnits, namedAgainSql } from '../rollup/custom-attributes.ts';
import { factsSql, happenedSql, isFolded, longestDays } from '../rollup/events.ts';
import { placedSql, rollupKey, sumsSql } from '../rollup/sums.ts';
import { reconciliationKey, sortedOutSql } from './reconcile.ts';

/** A sum that is not what the raw rows add up to: `column: kept → recomputed` for each count that differs. */
export type Difference = { rollup: string; differences: string[] };

export type Verification = {
  /** Sums that were compared (count). */
  compared: number;
  /** The first of them, at most 100 of a kind. */
  differences: Difference[];
};

/** One kind of sums: `sql` has `kept` and `wanted`, rows of the key and of what was counted. */
type Kind = { sql: string; key: string; counts: readonly string[]; isRight: (count: string) => string };

const isEqual = (count: string): string => `kept_${count} = wanted_${count}`;

/*
 * $1, $2: first and last UTC day. The facts of two further days complete the last days of time zones west of Greenwich.
 */
const inDays =
  "bucket >= $1::date::timestamp at time zone 'UTC' and bucket < ($2::date + 1)::timestamp at time zone 'UTC'";
const factsOfDaysSql = `
facts as materialized (
  select * from (${factsSql(isFolded, `$1::date - ${longestDays}`)}) as facts
  where at >= $1::date::timestamp at time zone 'UTC' and at < ($2::date + 3)::timestamp at time zone 'UTC'
),
${placedSql}`;

const rollups: Kind = {
  key: rollupKey,
  counts: metricNames,
  isRight: isEqual,
  sql: `${factsOfDaysSql},${sumsSql},
wanted as (select * from by_grain where ${inDays}),
kept as (select * from rollups where ${inDays})`,
};

const customKey = 'publisher_id, key, grain, bucket';

/**
 * Of own keys all values together: which of them have rows of their own depends on what came first, and on what was
 * erased.
 */
const customRollups: Kind = {
  key: customKey,
  counts: metricNames,
  isRight: isEqual,
  sql: `${factsOfDaysSql},${namedAgainSql},
wanted as (
  select * from (
    select publisher_id, key, grain, date_trunc(unit, quarter, zone) as bucket, ${eachMetric((name) => `${sumSql(name)} as ${name}`)}
    from named cross join ${customUnits} group by 1, 2, 3, 4
  ) as summed where ${inDays}
),
kept as (
  select ${customKey}, ${eachMetric((name) => `${sumSql(name)} as ${name}`)} from custom_rollups where ${inDays} group by ${customKey}
)`,
};

/** Raw rows of developers' sessions go after a day, so there may be fewer than there were. */
const reconciliation: Kind = {
  key: reconciliationKey,
  counts: ['count'],
  isRight: (count) => `(${isEqual(count)} or reason = 'dev' and kept_${count} > wanted_${count})`,
  sql: `
happened as materialized (${happenedSql(`${isFolded} and t.day <= $2::date`, '$1::date')}),
${sortedOutSql},
wanted as (select * from sorted_out),
kept as (select * from reconciliation where day between $1::date and $2::date)`,
};

const compareSql = ({ sql, key, counts, isRight }: Kind): string => `
with ${sql},
compared as (
  select ${key}, ${counts.map((count) => `coalesce(kept.${count}, 0) as kept_${count}, coalesce(wanted.${count}, 0) as wanted_${count}`).join(', ')}
  from kept full join wanted using (${key})
),
wrong as (select * from compared where not (${counts.map(isRight).join(' and ')}))
select (select count(*)::int from compared) as compared, coalesce((select json_agg(first) from (select * from wrong limit 100) as first), '[]') as wrong`;

type WrongRow = Record<string, string | number>;

/**
 * Adds up the raw rows of some UTC days anew and compares them with the sums of the reports, on one snapshot and as far
 * as folds have
 * come, so that it is right while traffic runs. Raw rows must still be there: of the days, and of sessions up to 64
 * days before.
 */
export async function verifyRollups(client: pg.ClientBase, from: string, to: string): Promise<Verification> {
  await client.query('begin transaction isolation level repeatable read, read only');
  try {
    await client.query("set local work_mem = '256MB'; set local jit = off");
    const all: Verification = { compared: 0, differences: [] };
    for (const kind of [rollups, customRollups, reconciliation]) {
      const { rows } = await client.query<{ compared: number; wrong: WrongRow[] }>(compareSql(kind), [from, to]);
      all.compared += rows[0]?.compared ?? 0;
      all.differences.push(...(rows[0]?.wrong ?? []).map((row) => toDifference(row, kind)));
    }
    return all;
  } finally {
    await client.query('rollback');
  }
}

function toDifference(row: WrongRow, { key, counts }: Kind): Difference {
  const differences = counts.flatMap((name) =>
    row[`kept_${name}`] === row[`wanted_${name}`] ? [] : [`${name}: ${row[`kept_${name}`]} → ${row[`wanted_${name}`]}`],
  );
  const names = key.split(', ').map((column) => `${column}=${row[column]}`);
  return { rollup: names.join(' '), differences };
}
