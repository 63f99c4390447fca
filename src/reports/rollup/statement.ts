import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { addedSql, eachMetric } from '../query/metrics.ts';
import { reconciledSql } from '../reconcile/reconcile.ts';
import { customSql } from './custom-attributes.ts';
import { countsSql, happenedSql, longestDays } from './events.ts';
import { talliedSql } from './pre-aggregate.ts';
import { placedBy, rollupsWrittenSql, sumsSql } from './sums.ts';

/** What a fold did. `facts`: what it found, also of what does not count; null: another process was folding. */
export type Fold = {
  facts: number | null;
  /** Whether it reached the end of what was committed when it began. */
  complete: boolean;
};

/** Key of the advisory lock of whoever changes sums. */
export const foldLock = "hashtext('perkwire_rollups')";

/** Minutes are kept for those who watch; older ones are not worth writing (minutes). */
export const minutesKept = 120;

/** As the indexes have it: of an xid8, the eight bytes. */
const written = 'xid8send(t.written_by)';

/**
 * New rows: of transactions at or after the end of the last fold, or that were under way then. A snapshot knows which
 * transactions it sees, so the rows of two folds neither overlap nor leave a gap, however long a transaction takes.
 */
const isNew = `(${written} >= (select xid8send($1::xid8)) and ${written} < (select xid8send($2::xid8))
  or ${written} = any(array(select xid8send(xid) from unnest($3::xid8[]) as xid)))`;

const newSql = happenedSql(isNew, '$4::date', '$4::date', ['$5::date', '$6::date']);

const foldSql = `
with ${talliedSql(newSql, '$7::timestamptz')},
facts as not materialized (select * from happened where counts),
${reconciledSql('')},
${placedBy('moved')},
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
  select publisher_id, at, ${countsSql} from facts
  where at >= $7::timestamptz and kind <> 'shown' group by 1, 2
  on conflict (publisher_id, minute) do update set ${addedSql}
)
select coalesce(sum_exact(times), 0)::int as facts from happened`;

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

/**
 * Transactions after which even a fold of nothing is written down, so that the next need not look at them again
 * (count); one that did
 * not reach the end always is.
 */
const worthNoting = 1000;

/**
 * Adds what was committed since the last fold to the rollups, exactly once: sums and progress are one transaction, and
 * one
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
    const { rows: locks } = await executor.query<{ ok: boolean }>(
      `select pg_try_advisory_xact_lock(${foldLock}) as ok`,
    );
    if (!locks[0]?.ok) return { facts: null, complete: true };
    const progress = await readProgress(executor, nowMs, span);
    const facts = await foldFacts(executor, progress, nowMs);
    const gone = BigInt(progress.to) - BigInt(progress.upto);
    const complete = progress.to === progress.end;
    if (facts > 0 || !complete || gone > worthNoting || progress.is_old) {
      await executor.query({ name: 'advance_rollups', text: advanceSql, values: [progress.to, new Date(nowMs)] });
    }
    return { facts, complete };
  });

const isPartitionMissing = (err: unknown): boolean =>
  (err as { code?: unknown }).code === '23514' && /^no partition of relation/.test((err as Error).message);

/** For facts of a time for which nobody made partitions, such as that of a clock that was wrong. */
const createPartitionsOfFacts = (pool: pg.Pool, nowMs: number, span: number): Promise<void> =>
  transaction(pool, async (executor) => {
    const progress = await readProgress(executor, nowMs, span);
    await executor.query(settingsSql);
    const { rows } = await executor.query<{ day: string }>({
      name: 'days_of_facts',
      text: daysSql,
      values: newFacts(progress, nowMs),
    });
    await executor.query(createPartitionsSql, [rows.map(({ day }) => day)]);
  });

const daysSql = `select distinct (at at time zone 'UTC')::date::text as day from (${newSql}) as happened where counts`;

/** Of the days before and after, too: a day of the publisher's may begin in another month. */
const createPartitionsSql = 'select create_report_partitions(day - 1, day + 1) from unnest($1::date[]) as day';

async function readProgress(executor: Executor, nowMs: number, span: number): Promise<Progress> {
  const { rows } = await executor.query<Progress>({
    name: 'rollup_progress',
    text: progressSql,
    values: [new Date(nowMs), span],
  });
  if (rows[0] === undefined) throw new Error('rollup_progress has no row');
  return rows[0];
}

/*
 * New rows are found by their index whatever statistics say of it, which lag behind on a growing table: nothing is read
 * from end
 * to end, and of the indexes that one is taken which has few entries, not the primary key's. They do not know either
 * how many things
 * are alike: groups are hashed, because to sort rows by a dozen texts takes several times as long. One plan serves all
 * folds.
 */
const settingsSql = `set local enable_seqscan = off; set local cpu_index_tuple_cost = 1; set local plan_cache_mode = force_generic_plan;
set local jit = off; set local work_mem = '64MB'; set local enable_sort = off`;

/** The parameters of `newSql`. */
const newFacts = ({ upto, to, unfinished, from_day }: Progress, nowMs: number): unknown[] => [
  upto,
  to,
  unfinished,
  from_day,
  dayOf(nowMs),
  dayOf(nowMs - dayMs),
];

async function foldFacts(executor: Executor, progress: Progress, nowMs: number): Promise<number> {
  await executor.query(settingsSql);
  const values = [...newFacts(progress, nowMs), new Date((Math.floor(nowMs / 60_000) - minutesKept) * 60_000)];
  const { rows } = await executor.query<{ facts: number }>({ name: 'fold_facts', text: foldSql, values });
  return rows[0]?.facts ?? 0;
}
