import type pg from 'pg';
import { type Executor, transaction } from '../db/pool.ts';
import { customSql } from './custom.ts';
import { countsSql, factsSql, longestDays } from './facts.ts';
import { addedSql, eachMetric } from './metrics.ts';
import { placedSql, rollupsWrittenSql, sumsSql } from './sums.ts';

/** What a fold did. `facts` null: another process was folding. */
export type Fold = {
  facts: number | null;
  /** Whether it reached the end of what was committed when it began. */
  complete: boolean;
};

/** Key of the advisory lock of whoever changes sums. */
export const foldLock = "hashtext('perkwire_rollups')";

/** Minutes are kept for those who watch; older ones are not worth writing (minutes). */
export const minutesKept = 120;

/**
 * New rows: of transactions at or after the end of the last fold, or that were under way then. A snapshot knows which
 * transactions it sees, so the rows of two folds neither overlap nor leave a gap, however long a transaction takes.
 */
const isNew = '(t.written_by >= $1::xid8 and t.written_by < $2::xid8 or t.written_by = any($3::xid8[]))';

const foldSql = `
with facts as materialized (${factsSql(isNew, '$4::date')}),
${placedSql},
${sumsSql},
${customSql},
${rollupsWrittenSql('')},
publishers_noted as (
  insert into rollup_publishers (publisher_id, time_zone, tidied_upto)
  select id, time_zone, (select min(at) at time zone 'UTC' from facts)::date - 1 from publishers
  where id in (select publisher_id from facts) and id not in (select publisher_id from rollup_publishers)
),
minutes_written as (
  insert into minute_rollups as kept (publisher_id, minute, ${eachMetric((name) => name)})
  select publisher_id, date_trunc('minute', at), ${countsSql} from facts
  where at >= $5::timestamptz and kind <> 'shown' group by 1, 2
  on conflict (publisher_id, minute) do update set ${addedSql}
)
select count(*)::int as facts, min(at) as earliest, max(at) as latest from facts`;

type Progress = { upto: string; unfinished: string[]; to: string; end: string; from_day: string; is_old: boolean };

/**
 * Where the last fold ended and where this one does: at most `span` transactions later. $1: now.
 * Read in the transaction of the fold, whose snapshot decides what it sees.
 */
const progressSql = `
select upto::text, unfinished::text[], (least(snapshot.last, upto::text::numeric + $2))::text as to, snapshot.last::text as end,
  (least(folded_at, $1::timestamptz) - interval '${longestDays} days')::date::text as from_day, folded_at < $1::timestamptz - interval '1 hour' as is_old
from rollup_progress, (select pg_snapshot_xmax(pg_current_snapshot())::text::numeric as last) as snapshot`;

const advanceSql = `
update rollup_progress set upto = $1::xid8, folded_at = $2,
  unfinished = array(select xid from pg_snapshot_xip(pg_current_snapshot()) as xid where xid < $1::xid8)`;

/** Transactions after which even a fold of nothing is written down, so that the next need not look at them again (count). */
const worthNoting = 1000;

/**
 * Adds what was committed since the last fold to the rollups, exactly once: sums and progress are one transaction, and one
 * process folds at a time. Any number of processes may try.
 * @param span transactions to take at most (count)
 */
export async function fold(pool: pg.Pool, nowMs: number, span: number): Promise<Fold> {
  try {
    return await foldOnce(pool, nowMs, span);
  } catch (err) {
    if (!isPartitionMissing(err)) throw err;
    await createPartitionsOfFacts(pool, nowMs, span);
    return foldOnce(pool, nowMs, span);
  }
}

const foldOnce = (pool: pg.Pool, nowMs: number, span: number): Promise<Fold> =>
  transaction(pool, async (executor) => {
    await executor.query('set transaction isolation level repeatable read');
    const { rows: locks } = await executor.query<{ ok: boolean }>(`select pg_try_advisory_xact_lock(${foldLock}) as ok`);
    if (!locks[0]?.ok) return { facts: null, complete: true };
    const progress = await readProgress(executor, nowMs, span);
    const facts = await foldFacts(executor, progress, nowMs);
    const gone = BigInt(progress.to) - BigInt(progress.upto);
    if (facts > 0 || gone > worthNoting || progress.is_old) {
      await executor.query({ name: 'advance_rollups', text: advanceSql, values: [progress.to, new Date(nowMs)] });
    }
    return { facts, complete: progress.to === progress.end };
  });

const isPartitionMissing = (err: unknown): boolean =>
  (err as { code?: unknown }).code === '23514' && /^no partition of relation/.test((err as Error).message);

/** For facts of a time for which nobody made partitions, such as that of a clock that was wrong. */
const createPartitionsOfFacts = (pool: pg.Pool, nowMs: number, span: number): Promise<void> =>
  transaction(pool, async (executor) => {
    const { upto, to, unfinished, from_day } = await readProgress(executor, nowMs, span);
    await executor.query({ name: 'create_partitions_of_facts', text: createPartitionsSql, values: [upto, to, unfinished, from_day] });
  });

/** Of the days before and after, too: a day of the publisher's may begin in another month. */
const createPartitionsSql = `
select create_report_partitions(day - 1, day + 1)
from (select distinct (at at time zone 'UTC')::date as day from (${factsSql(isNew, '$4::date')}) as facts offset 0) as days`;

async function readProgress(executor: Executor, nowMs: number, span: number): Promise<Progress> {
  const { rows } = await executor.query<Progress>({ name: 'rollup_progress', text: progressSql, values: [new Date(nowMs), span] });
  if (rows[0] === undefined) throw new Error('rollup_progress has no row');
  return rows[0];
}

async function foldFacts(executor: Executor, { upto, to, unfinished, from_day }: Progress, nowMs: number): Promise<number> {
  // Found by the index, also while statistics still say that a growing table is small; sorted in memory.
  await executor.query("set local enable_seqscan = off; set local work_mem = '64MB'");
  const values = [upto, to, unfinished, from_day, new Date(nowMs - minutesKept * 60_000)];
  const { rows } = await executor.query<{ facts: number }>({ name: 'fold_facts', text: foldSql, values });
  return rows[0]?.facts ?? 0;
}
