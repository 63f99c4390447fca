import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { metricNames } from '../metrics.ts';
import { keptGrains, weekBit } from './grains.ts';
import { nextWeekStartMs, weekStartMs } from './weeks.ts';

/**
 * Number of recent days whose rollups may still change. It is more than one, because the day ends half a day later in
 * the westernmost time zone than in UTC.
 */
const openDays = 2;

/** Statement timeout per chunk, in milliseconds. */
const statementTimeoutMs = 8000;
const queryCanceled = '57014';

/**
 * Returns SQL that deletes one chunk of a publisher's day and reinserts it in sort order, without rows that contain
 * only zeros. $1: publisher, $2: day, $3: grain or attribute key of the chunk.
 */
const rewriteSql = (table: string, piece: string, order: string): string => `
with taken as (
  delete from ${table} where publisher_id = $1 and ${piece} = $3
    and bucket >= $2::date::timestamp at time zone 'UTC' and bucket < ($2::date + 1)::timestamp at time zone 'UTC'
  returning *
)
insert into ${table} select * from taken where (${metricNames.join(' | ')}) <> 0 order by ${order}`;

/** Use the sort order of the index for filtered reports. */
const rewriteGrainSql = rewriteSql('rollups', 'grain', 'device, country, offer_id, placement, bucket');
const rewriteKeySql = rewriteSql('custom_rollups', 'key', 'grain, value, bucket');

type NextDay = { publisher_id: number; day: string; is_empty: boolean };

/**
 * Selects the oldest past day of any publisher that is not compacted yet. Skips publishers that another process is
 * working on.
 */
const nextDaySql = `
select publisher_id, day::text, not exists (
    select from rollups r where r.publisher_id = kept.publisher_id and grain = 0
      and bucket >= day::timestamp at time zone 'UTC' and bucket < (day + 1)::timestamp at time zone 'UTC'
  ) as is_empty
from rollup_publishers kept cross join lateral (select compacted_until + 1 as day) as next
where compacted_until < $1::date order by compacted_until, publisher_id limit 1 for update of kept skip locked`;

/**
 * Rewrites the rollups of past days in the order in which reports read them. Without compaction, rows are scattered
 * over the table, and a report with 37,000 rows reads 37,000 pages instead of 1,000. If a late event conflicts with the
 * rewrite, it waits or is rolled up again.
 * @param isStopped checked before each day, because thousands of days may be due after a long pause
 * @returns number of compacted days, summed over publishers
 */
export async function compactRollups(
  pool: pg.Pool,
  nowMs: number,
  isStopped: () => boolean = () => false,
): Promise<number> {
  const lastDay = dayOf(nowMs - openDays * dayMs);
  for (let done = 0; ; done += 1) {
    if (isStopped()) return done;
    const hasCompacted = await transaction(pool, (executor) => compactNextDay(executor, lastDay));
    if (!hasCompacted) return done;
  }
}

async function compactNextDay(executor: Executor, lastDay: string): Promise<boolean> {
  await executor.query(`set local statement_timeout = ${statementTimeoutMs}`);
  const { rows } = await executor.query<NextDay>(nextDaySql, [lastDay]);
  const [next] = rows;
  if (next === undefined) return false;
  await executor.query('update rollup_publishers set compacted_until = $2 where publisher_id = $1', [
    next.publisher_id,
    next.day,
  ]);
  if (!next.is_empty) await compactDay(executor, next);
  return true;
}

async function compactDay(executor: Executor, { publisher_id, day }: NextDay): Promise<void> {
  const rewrite = (text: string, piece: string | number, from = day): Promise<void> =>
    skipIfTooLarge(executor, { text, values: [publisher_id, from, piece] });
  const dayStartMs = Date.parse(day);
  const endsWeek = nextWeekStartMs(dayStartMs) === dayStartMs + dayMs;
  for (const grain of keptGrains) {
    if ((grain & weekBit) === 0) await rewrite(rewriteGrainSql, grain);
    else if (endsWeek) await rewrite(rewriteGrainSql, grain, dayOf(weekStartMs(dayStartMs)));
  }
  const { rows } = await executor.query<{ key: string }>(
    `select distinct key from custom_values
    where publisher_id = $1 and day between $2::date - 1 and $2::date + 1 order by key`,
    [publisher_id, day],
  );
  for (const { key } of rows) await rewrite(rewriteKeySql, key);
}

/**
 * Rewrites a chunk, but skips it if the statement exceeds the timeout. A skipped chunk remains correct and is only
 * slower to read.
 */
async function skipIfTooLarge(executor: Executor, statement: { text: string; values: unknown[] }): Promise<void> {
  await executor.query('savepoint piece');
  try {
    await executor.query(statement);
  } catch (err) {
    if ((err as { code?: unknown }).code !== queryCanceled) throw err;
    await executor.query('rollback to savepoint piece');
  }
}
