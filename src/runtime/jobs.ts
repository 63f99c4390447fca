import type pg from 'pg';
import { deleteOldIdempotencyKeys } from '../catalog/management/idempotency.ts';
import type { Config } from '../config.ts';
import { deleteOldUsage } from '../offers/caps/use.ts';
import { deleteOldDecisionStates } from '../offers/decision-log/states.ts';
import { transaction } from '../platform/db/pool.ts';
import { type Loop, startLoop } from '../platform/lib/loop.ts';
import { dayMs, dayOf } from '../platform/lib/time.ts';
import type { Logger } from '../platform/logger.ts';
import { compactRollups } from '../reports/rollup/compact.ts';
import { minutesKept } from '../reports/rollup/statement.ts';

const roundMs = 3_600_000;
/** After a round that failed (milliseconds). */
const retryMs = 60_000;
/** Dev sessions removed by one statement (count). */
const maxRemoved = 5000;

type Retention = Pick<Config, 'retentionRawDays' | 'retentionRollupDays' | 'retentionDeliveryDays'>;
type MaintenanceOptions = { pool: pg.Pool; config: Retention; logger: Logger; now: () => number };

/** Creates the partitions from two days back to a week ahead. */
export async function ensurePartitions(pool: pg.Pool, nowMs: number): Promise<void> {
  const days = [dayOf(nowMs - 2 * dayMs), dayOf(nowMs + 7 * dayMs)];
  await pool.query('select create_day_partitions($1::date, $2::date)', days);
  await pool.query('select create_report_partitions($1::date, $2::date)', days);
}

/** What a round did (counts). `givenUp`: deliveries that still waited when their day was dropped. */
type Done = { dropped: number; givenUp: number; devSessions: number };

/**
 * One round: partitions ahead, partitions past their retention, dev sessions past their day. Any number of processes
 * may do it.
 */
export async function maintain(
  pool: pg.Pool,
  config: Retention,
  nowMs: number,
  isStopped: () => boolean = () => false,
): Promise<Done> {
  await ensurePartitions(pool, nowMs);
  const raw = await dropRaw(pool, nowMs - config.retentionRawDays * dayMs);
  const rollups = await dropRollups(pool, nowMs - config.retentionRollupDays * dayMs);
  const { dropped, givenUp } = await dropDeliveries(pool, config.retentionDeliveryDays, nowMs);
  await deleteOldIdempotencyKeys(pool, nowMs);
  await pool.query('delete from minute_rollups where minute < $1', [new Date(nowMs - minutesKept * 60_000)]);
  await deleteOldDecisionStates(pool, nowMs);
  await deleteOldUsage(pool, nowMs);
  const devSessions = await removeDevSessions(pool, nowMs - dayMs);
  await compactRollups(pool, nowMs, isStopped); // last: it may take hours
  return { dropped: raw + rollups + dropped, givenUp, devSessions };
}

/** Does a round now and every hour. */
export function startJobs({ pool, config, logger, now }: MaintenanceOptions): Loop {
  return startLoop(async (isStopped) => {
    try {
      const done = await maintain(pool, config, now(), isStopped);
      logger.debug(done, 'maintenance done');
      if (done.givenUp > 0)
        logger.warn({ count: done.givenUp }, 'deliveries that still waited were dropped with their day');
      return roundMs;
    } catch (err) {
      logger.error({ err }, 'maintenance failed');
      return retryMs;
    }
  });
}

/** A drop locks its parent. It gives up rather than let everybody wait behind it for a long-running reader. */
const lockTimeout = "set local lock_timeout = '2s'";

const dropRaw = (pool: pg.Pool, keepFromMs: number): Promise<number> =>
  transaction(pool, async (executor) => {
    await executor.query(lockTimeout);
    const { rows } = await executor.query<{ dropped: number }>(
      "select sum(drop_day_partitions(parent, $1::date))::int as dropped from unnest(array['sessions', 'events', 'usp_sessions', 'conversions', 'bookings']) as parent",
      [dayOf(keepFromMs)],
    );
    return rows[0]?.dropped ?? 0;
  });

/** Sums lie in partitions of a month, which go when all of it is past. */
const dropRollups = (pool: pg.Pool, keepFromMs: number): Promise<number> =>
  transaction(pool, async (executor) => {
    await executor.query(lockTimeout);
    const { rows } = await executor.query<{ dropped: number }>(
      `select drop_day_partitions('custom_values', $1::date)
  + (select sum(drop_day_partitions(parent, date_trunc('month', $1::date)::date))::int from unnest(array['rollups', 'custom_rollups']) as parent) as dropped`,
      [dayOf(keepFromMs)],
    );
    await executor.query('delete from reconciliation where day < $1::date', [dayOf(keepFromMs)]);
    return rows[0]?.dropped ?? 0;
  });

/**
 * A day is kept for as long as one of its deliveries waits, such as those of a paused endpoint or a late redelivery, but
 * not beyond
 * twice the retention.
 */
const dropDeliveries = (
  pool: pg.Pool,
  retentionDays: number,
  nowMs: number,
): Promise<{ dropped: number; givenUp: number }> =>
  transaction(pool, async (executor) => {
    await executor.query(lockTimeout);
    const [lastDay, keepFrom] = [dayOf(nowMs - 2 * retentionDays * dayMs), dayOf(nowMs - retentionDays * dayMs)];
    const { rowCount: givenUp } = await executor.query('delete from delivery_queue where day < $1::date', [lastDay]);
    const { rows } = await executor.query<{ dropped: number }>(
      `select sum(drop_day_partitions(parent, least($1::date, (select min(day) from delivery_queue))))::int as dropped
      from unnest(array['deliveries', 'delivery_attempts']) as parent`,
      [keepFrom],
    );
    await executor.query(
      'delete from delivery_counts where day < least($1::date, (select min(day) from delivery_queue))',
      [keepFrom],
    );
    await executor.query("delete from redelivery_jobs where status <> 'running' and created_at < $1::date", [keepFrom]);
    return { dropped: rows[0]?.dropped ?? 0, givenUp: givenUp ?? 0 };
  });

async function removeDevSessions(pool: pg.Pool, beforeMs: number): Promise<number> {
  let total = 0;
  for (;;) {
    const removed = await transaction(pool, async (executor) => {
      const { rows } = await executor.query<{ day: string; id: string }>(
        `with old as materialized (select day, id from sessions where dev and created_at < $1 limit ${maxRemoved})
        delete from sessions where day = any(array(select distinct day from old)) and id = any(array(select id from old))
        returning day::text, id`,
        [new Date(beforeMs)],
      );
      const days = [...new Set(rows.map((row) => row.day))];
      const ids = rows.map((row) => row.id);
      await executor.query('delete from usp_sessions where day = any($1::date[]) and session_id = any($2::uuid[])', [
        days,
        ids,
      ]);
      return rows.length;
    });
    total += removed;
    if (removed < maxRemoved) return total;
  }
}
