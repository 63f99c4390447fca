import type pg from 'pg';
import { transaction } from '../../platform/db/pool.ts';
import { dayMs, dayOf, hourMs } from '../../platform/lib/time.ts';

/*
 * Rollups find new rows through BRIN indexes. For each range of pages, such an index stores which transactions wrote to
 * the range. Rollups also read all ranges without a summary, so they never miss a row; summaries only reduce the number
 * of pages to read. A range is summarised when it is full, because each row added later would have to update its
 * summary.
 */

/** Number of pages per range, which must match the index definitions. */
const rangePages = 128;
/** Maximum number of pages at the end of a table that may be allocated but not yet written. */
const unwrittenPages = 64;
/** Maximum number of ranges to summarise per transaction. Summarising this many takes a tenth of a second. */
const maxRanges = 40;
/** Approximate time limit of one call, in milliseconds. */
const limitMs = 300;
/**
 * Interval at which past days are re-summarised, in milliseconds. Hourly is enough, because few events arrive after the
 * session's own day.
 */
const pastEveryMs = hourMs;

type Partition = { table: string; index: string; day: string; pages: number };

const partitionsSql = `
select heap.oid::regclass::text as table, inhrelid::regclass::text as index, right(heap.relname, 8) as day,
  (pg_relation_size(heap.oid) / current_setting('block_size')::integer)::integer as pages
from pg_inherits join pg_index on indexrelid = inhrelid join pg_class heap on heap.oid = indrelid
where inhparent in ('sessions_written_by'::regclass, 'events_written_by'::regclass)
  and right(heap.relname, 8) >= $1
order by day desc, heap.relname`;

/** Summarises as many of the due ranges as possible within the time limit. Skips partitions that are being vacuumed. */
export type SummariseRanges = (nowMs: number) => Promise<void>;

/** Creates a summariser that remembers its progress. Several processes may run summarisers at the same time. */
export function createRangeSummariser(pool: pg.Pool): SummariseRanges {
  /** Number of summarised pages by partition index name. */
  const done = new Map<string, number>();
  let pastDueMs = Number.NEGATIVE_INFINITY;

  return async (nowMs) => {
    const openDay = dayOf(nowMs - dayMs).replaceAll('-', '');
    const endMs = performance.now() + limitMs;
    const withPast = nowMs >= pastDueMs;
    const { rows } = await pool.query<Partition>({
      name: 'partitions_written',
      text: partitionsSql,
      values: [withPast ? '' : openDay],
    });
    for (const partition of rows) {
      const { index, pages, day } = partition;
      const dueTo = day < openDay ? pages : wholeRanges(pages - unwrittenPages);
      for (let from = wholeRanges(done.get(index) ?? 0); from < dueTo; from += maxRanges * rangePages) {
        if (performance.now() > endMs) return;
        const to = Math.min(dueTo, from + maxRanges * rangePages);
        if (!(await summarise(pool, partition, from, to))) break;
        done.set(index, to);
      }
    }
    if (withPast) pastDueMs = nowMs + pastEveryMs;
  };
}

const wholeRanges = (pages: number): number => pages - (pages % rangePages);

/** SQLSTATE codes of lock_not_available and undefined_table. */
const skippedCodes = new Set(['55P03', '42P01']);

/**
 * Summarises a range of pages. Acquires the same lock as a vacuum, but never waits for it, because waiting would cancel
 * an autovacuum.
 * @returns false if the lock is not available, or the partition was dropped
 */
async function summarise(pool: pg.Pool, { table, index }: Partition, from: number, to: number): Promise<boolean> {
  try {
    await transaction(pool, async (executor) => {
      await executor.query(`lock table only ${table} in share update exclusive mode nowait`);
      await executor.query(
        `select sum(brin_summarize_range($1::regclass, page))
        from generate_series($2::bigint, $3::bigint - 1, $4) as page`,
        [index, from, to, rangePages],
      );
    });
    return true;
  } catch (err) {
    if (skippedCodes.has((err as { code?: string }).code ?? '')) return false;
    throw err;
  }
}
