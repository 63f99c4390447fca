import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { metricNames } from '../query/metrics.ts';
import { keptGrains } from './grains.ts';

/** Days that may still change (count): that of the westernmost time zone ends half a day after that of Greenwich. */
const openDays = 2;

/** For one piece (milliseconds). */
const limitMs = 8000;
const queryCanceled = '57014';

/**
 * Takes a piece of one publisher's day out and puts it back in order, without what came to nothing. $1: publisher, $2:
 * UTC day, $3: piece.
 */
const rewriteSql = (table: string, piece: string, order: string): string => `
with taken as (
  delete from ${table} where publisher_id = $1 and ${piece} = $3
    and bucket >= $2::date::timestamp at time zone 'UTC' and bucket < ($2::date + 1)::timestamp at time zone 'UTC'
  returning *
)
insert into ${table} select * from taken where (${metricNames.join(' | ')}) <> 0 order by ${order}`;

/** In the order of the index that leads filtered reports. */
const rewriteGrainSql = rewriteSql('rollups', 'grain', 'device, country, offer_id, placement, bucket');
const rewriteKeySql = rewriteSql('custom_rollups', 'key', 'grain, value, bucket');

type Next = { publisher_id: number; day: string; is_empty: boolean };

/** The oldest day of some publisher that is over and not in order; nobody else works at it. */
const nextSql = `
select publisher_id, day::text, not exists (
    select from rollups r where r.publisher_id = kept.publisher_id and grain = 0
      and bucket >= day::timestamp at time zone 'UTC' and bucket < (day + 1)::timestamp at time zone 'UTC'
  ) as is_empty
from rollup_publishers kept cross join lateral (select tidied_upto + 1 as day) as next
where tidied_upto < $1::date order by tidied_upto, publisher_id limit 1 for update of kept skip locked`;

/**
 * Writes the sums of days that are over anew, in the order in which reports read them. Folds leave those of an hour
 * wherever there
 * was room: a report of 37,000 would read as many pages, where a thousand will do. A late fact that meets it waits, or
 * is folded again.
 * @param isStopped asked before each day: after a long time without it there are thousands
 * @returns days of publishers that were done (count)
 */
export async function compactRollups(
  pool: pg.Pool,
  nowMs: number,
  isStopped: () => boolean = () => false,
): Promise<number> {
  const lastDay = dayOf(nowMs - openDays * dayMs);
  for (let done = 0; ; done += 1) {
    if (isStopped()) return done;
    const found = await transaction(pool, async (executor) => {
      await executor.query(`set local statement_timeout = ${limitMs}`);
      const { rows } = await executor.query<Next>(nextSql, [lastDay]);
      const [next] = rows;
      if (next === undefined) return false;
      await executor.query('update rollup_publishers set tidied_upto = $2 where publisher_id = $1', [
        next.publisher_id,
        next.day,
      ]);
      if (!next.is_empty) await tidyDay(executor, next);
      return true;
    });
    if (!found) return done;
  }
}

async function tidyDay(executor: Executor, { publisher_id, day }: Next): Promise<void> {
  const rewrite = (text: string, piece: string | number): Promise<void> =>
    unlessTooLarge(executor, { text, values: [publisher_id, day, piece] });
  for (const grain of keptGrains) await rewrite(rewriteGrainSql, grain);
  const { rows } = await executor.query<{ key: string }>(
    'select distinct key from custom_values where publisher_id = $1 and day between $2::date - 1 and $2::date + 1 order by key',
    [publisher_id, day],
  );
  for (const { key } of rows) await rewrite(rewriteKeySql, key);
}

/** A piece that takes too long stays as it is: it is only slower to read. */
async function unlessTooLarge(executor: Executor, statement: { text: string; values: unknown[] }): Promise<void> {
  await executor.query('savepoint piece');
  try {
    await executor.query(statement);
  } catch (err) {
    if ((err as { code?: unknown }).code !== queryCanceled) throw err;
    await executor.query('rollback to savepoint piece');
  }
}
