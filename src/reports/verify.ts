import type pg from 'pg';
import { factsSql, isFolded, longestDays } from './facts.ts';
import { eachMetric, metricNames } from './metrics.ts';
import { placedSql, rollupKey, sumsSql } from './sums.ts';

/** A rollup that is not what the raw rows add up to: `column: kept → recomputed` for each metric that differs. */
export type Difference = { rollup: string; differences: string[] };

export type Verification = {
  /** Rollups that were compared (count). */
  compared: number;
  /** The first of them, at most 100. */
  differences: Difference[];
};

const keyColumns = rollupKey.split(', ');

/*
 * $1, $2: first and last UTC day. The facts of two further days complete the last days of time zones west of Greenwich.
 */
const verifySql = `
with facts as materialized (
  select * from (${factsSql(isFolded, `$1::date - ${longestDays}`)}) as facts
  where at >= $1::date::timestamp at time zone 'UTC' and at < ($2::date + 3)::timestamp at time zone 'UTC'
),
${placedSql},
${sumsSql},
wanted as (select * from by_grain where bucket >= $1::date::timestamp at time zone 'UTC' and bucket < ($2::date + 1)::timestamp at time zone 'UTC'),
kept as (select * from rollups where bucket >= $1::date::timestamp at time zone 'UTC' and bucket < ($2::date + 1)::timestamp at time zone 'UTC'),
compared as (
  select ${keyColumns.join(', ')}, ${eachMetric((name) => `coalesce(kept.${name}, 0) as kept_${name}, coalesce(wanted.${name}, 0) as wanted_${name}`)}
  from kept full join wanted using (${rollupKey})
),
wrong as (select * from compared where (${eachMetric((name) => `kept_${name}`)}) <> (${eachMetric((name) => `wanted_${name}`)}))
select (select count(*)::int from compared) as compared, coalesce((select json_agg(first) from (select * from wrong limit 100) as first), '[]') as wrong`;

type WrongRow = Record<string, string | number>;

/**
 * Adds up the raw rows of some UTC days anew and compares them with the rollups, on one snapshot and as far as folds have come,
 * so that it is right while traffic runs. Raw rows must still be there: of the days, and of sessions up to 64 days before.
 */
export async function verifyRollups(client: pg.ClientBase, from: string, to: string): Promise<Verification> {
  await client.query('begin transaction isolation level repeatable read, read only');
  try {
    await client.query("set local work_mem = '256MB'; set local jit = off");
    const { rows } = await client.query<{ compared: number; wrong: WrongRow[] }>(verifySql, [from, to]);
    return { compared: rows[0]?.compared ?? 0, differences: (rows[0]?.wrong ?? []).map(toDifference) };
  } finally {
    await client.query('rollback');
  }
}

function toDifference(row: WrongRow): Difference {
  const differences = metricNames.flatMap((name) =>
    row[`kept_${name}`] === row[`wanted_${name}`] ? [] : [`${name}: ${row[`kept_${name}`]} → ${row[`wanted_${name}`]}`],
  );
  return { rollup: keyColumns.map((column) => `${column}=${row[column]}`).join(' '), differences };
}
