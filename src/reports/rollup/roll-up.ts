import pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { allEventsSql, longestDays } from './events.ts';
import { tryLockRollups } from './lock.ts';
import { rollupSql } from './statement.ts';

export type RollUp = {
  /**
   * Number of events that the rollup found, including events that do not count. Null if another process was already
   * running a rollup.
   */
  events: number | null;
  /** Whether the rollup processed everything that had been committed before it began. */
  complete: boolean;
};

/** Number of minutes stored for the live view. */
export const minutesKept = 120;

/** SQL for the eight bytes of an xid8, as stored in the indexes. */
const writtenBy = 'xid8send(t.written_by)';

/**
 * SQL condition for the rows to roll up. It matches rows written by transactions between the end of the last rollup
 * ($1) and the end of this one ($2). It also matches rows from transactions that were still open during the last rollup
 * ($3). Each rollup relies on the set of transactions that its snapshot sees, so rollups neither overlap nor leave a
 * gap, however long a transaction takes.
 */
const isNew = `(
  ${writtenBy} >= (select xid8send($1::xid8)) and ${writtenBy} < (select xid8send($2::xid8))
  or ${writtenBy} = any(array(select xid8send(xid) from unnest($3::xid8[]) as xid))
)`;

/** $4: earliest session day; $5, $6: today and yesterday (UTC). */
const newEventsSql = allEventsSql({ condition: isNew, fromDay: '$4::date', openDays: ['$5::date', '$6::date'] });

const newRollupSql = rollupSql(newEventsSql, '$7::timestamptz');

const daysSql = `
select distinct (at at time zone 'UTC')::date::text as day from (${newEventsSql}) as new_events where counts`;

type Progress = {
  from_xid: string;
  open_xids: string[];
  to_xid: string;
  end_xid: string;
  from_day: string;
  is_old: boolean;
};

/**
 * Reads where the last rollup ended and determines where this one ends, at most $2 transactions later. $1 is the
 * current time. The query runs in the rollup's own transaction, because that snapshot determines which rows the rollup
 * sees.
 */
const progressSql = `
select until_xid::text as from_xid, open_xids::text[], snapshot.last::text as end_xid,
  (least(snapshot.last, until_xid::text::numeric + $2))::text as to_xid,
  (least(rolled_up_at, $1::timestamptz) - interval '${longestDays} days')::date::text as from_day,
  rolled_up_at < $1::timestamptz - interval '1 hour' as is_old
from rollup_progress, (select pg_snapshot_xmax(pg_current_snapshot())::text::numeric as last) as snapshot`;

const advanceSql = `
update rollup_progress set until_xid = $1::xid8, rolled_up_at = $2, reach_rolled_up_at = $2,
  reach_from = case when reach_rolled_up_at = rolled_up_at then reach_from else $2 end,
  open_xids = array(select xid from pg_snapshot_xip(pg_current_snapshot()) as xid where xid < $1::xid8)`;

/**
 * Minimum number of transactions after which a rollup without events records its progress. A rollup that stopped before
 * the end always records it.
 */
const notedTransactions = 1000;

/**
 * Adds everything committed since the last rollup to the rollups, exactly once. Counts and progress are stored in one
 * transaction. Several processes may call this at the same time, but only one of them performs the rollup.
 * @param maxTransactions maximum number of transactions to process
 */
export async function rollUp(pool: pg.Pool, nowMs: number, maxTransactions: number): Promise<RollUp> {
  try {
    return await rollUpOnce(pool, nowMs, maxTransactions);
  } catch (err) {
    if (!isPartitionMissing(err)) throw err;
    await createPartitionsOfEvents(pool, nowMs, maxTransactions);
    return rollUpOnce(pool, nowMs, maxTransactions);
  }
}

const rollUpOnce = (pool: pg.Pool, nowMs: number, maxTransactions: number): Promise<RollUp> =>
  transaction(pool, async (executor) => {
    await executor.query('set transaction isolation level repeatable read');
    if (!(await tryLockRollups(executor))) return { events: null, complete: true };
    const progress = await readProgress(executor, nowMs, maxTransactions);
    const events = await addNewEvents(executor, progress, nowMs);
    const passed = BigInt(progress.to_xid) - BigInt(progress.from_xid);
    const complete = progress.to_xid === progress.end_xid;
    if (events > 0 || !complete || passed > notedTransactions || progress.is_old) {
      const values = [progress.to_xid, new Date(nowMs)];
      await executor.query({ name: 'advance_rollups', text: advanceSql, values });
    }
    return { events, complete };
  });

/**
 * Whether an error reports a missing partition. Such an error has the SQLSTATE code for a check violation, but no
 * constraint name. The message cannot be used because it is in the database server's language.
 */
const isPartitionMissing = (err: unknown): boolean =>
  err instanceof pg.DatabaseError && err.code === '23514' && err.constraint === undefined;

/** Creates the partitions for events with unusual times, for example those caused by a wrong clock. */
const createPartitionsOfEvents = (pool: pg.Pool, nowMs: number, maxTransactions: number): Promise<void> =>
  transaction(pool, async (executor) => {
    const progress = await readProgress(executor, nowMs, maxTransactions);
    await executor.query(settingsSql);
    const values = newEventsValues(progress, nowMs);
    const { rows } = await executor.query<{ day: string }>({ name: 'days_of_new_events', text: daysSql, values });
    // Include the adjacent days, because a day in the publisher's time zone may begin in another month.
    await executor.query('select create_report_partitions(day - 1, day + 1) from unnest($1::date[]) as day', [
      rows.map(({ day }) => day),
    ]);
  });

async function readProgress(executor: Executor, nowMs: number, maxTransactions: number): Promise<Progress> {
  const values = [new Date(nowMs), maxTransactions];
  const { rows } = await executor.query<Progress>({ name: 'rollup_progress', text: progressSql, values });
  if (rows[0] === undefined) throw new Error('rollup_progress has no row');
  return rows[0];
}

/*
 * Table statistics lag behind on growing tables, so these settings determine the plan. New rows are found by index,
 * never by a full table scan, and by the index with few entries rather than the primary key. Groups are hashed, because
 * sorting rows by a dozen text columns takes several times as long. All rollups share one plan.
 */
const settingsSql = `
set local enable_seqscan = off; set local cpu_index_tuple_cost = 1; set local plan_cache_mode = force_generic_plan;
set local jit = off; set local work_mem = '64MB'; set local enable_sort = off`;

const newEventsValues = ({ from_xid, to_xid, open_xids, from_day }: Progress, nowMs: number): unknown[] => [
  from_xid,
  to_xid,
  open_xids,
  from_day,
  dayOf(nowMs),
  dayOf(nowMs - dayMs),
];

async function addNewEvents(executor: Executor, progress: Progress, nowMs: number): Promise<number> {
  await executor.query(settingsSql);
  const minutesFrom = new Date((Math.floor(nowMs / 60_000) - minutesKept) * 60_000);
  const values = [...newEventsValues(progress, nowMs), minutesFrom];
  const { rows } = await executor.query<{ events: number }>({ name: 'roll_up', text: newRollupSql, values });
  return rows[0]?.events ?? 0;
}
