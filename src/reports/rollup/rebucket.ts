import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { firstUuid7At, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import { allEventsSql, isRolledUp } from './events.ts';
import { failOlderRollups, tryLockRollups } from './lock.ts';
import { recountSql } from './statement.ts';

/*
 * When a publisher's time zone changes, its rollups still contain the hours and days of the old time zone. They are
 * re-bucketed session by session, newest first. In one transaction, the counts of a session are subtracted from the old
 * hours and days and added to the new ones, so that all rollups are consistent at any time. Rollups whose raw rows no
 * longer exist stay unchanged.
 */

/** $1: publisher; $2, $3: first session of the step; $4, $5: first session after the step. */
const eventsOfStepSql = allEventsSql({
  condition: `t.publisher_id = $1 and t.day between $2::date and $4::date
    and (t.day, t.session_id) >= ($2::date, $3::uuid) and (t.day, t.session_id) < ($4::date, $5::uuid)
    and ${isRolledUp}`,
  fromDay: '$2::date',
});

/**
 * The time zone that applies to a session depends on whether the session is before or after `rebucketed_from`. Both
 * statements use that time zone.
 */
const subtractSql = recountSql(eventsOfStepSql, '-', { reconciles: false });
const addSql = recountSql(eventsOfStepSql, '', { reconciles: false });

type Pending = {
  publisher_id: number;
  next_time_zone: string;
  rebucketed_from_session: string | null;
  oldest_day: string | null;
};

const pendingSql = `
select kept.publisher_id, coalesce(kept.next_time_zone, publishers.time_zone) as next_time_zone,
  kept.rebucketed_from_session, (select min(day) from sessions)::text as oldest_day
from rollup_publishers kept join publishers on publishers.id = kept.publisher_id
where kept.next_time_zone is not null or kept.time_zone <> publishers.time_zone
order by kept.publisher_id limit 1`;

/**
 * Re-buckets some of the rollups for a publisher whose time zone has changed.
 * @param spanMs maximum time span of the sessions to re-bucket, in milliseconds
 * @returns whether there was such a publisher
 */
export async function rebucketNext(pool: pg.Pool, nowMs: number, spanMs: number): Promise<{ hasWork: boolean }> {
  const { rows } = await pool.query<Pending>({ name: 'find_rebucketing', text: pendingSql });
  const [publisher] = rows;
  if (publisher === undefined) return { hasWork: false };
  await pool.query('select create_report_partitions($1::date - 2, $1::date)', [
    stepOf(publisher, nowMs, spanMs).fromDay,
  ]);
  return transaction(pool, async (executor) => {
    // Compaction and erasures lock this row, too. Always lock it before acquiring the rollup lock.
    const { rowCount: locked } = await executor.query(
      'select from rollup_publishers where publisher_id = $1 for update skip locked',
      [publisher.publisher_id],
    );
    if (locked === 0 || !(await tryLockRollups(executor))) return { hasWork: false };
    const [pending] = (await executor.query<Pending>(pendingSql)).rows;
    const isCurrent =
      pending?.publisher_id === publisher.publisher_id &&
      pending.rebucketed_from_session === publisher.rebucketed_from_session;
    if (pending !== undefined && isCurrent) await rebucket(executor, pending, stepOf(pending, nowMs, spanMs));
    return { hasWork: true }; // even if another process did this step, because further steps may remain
  });
}

type Step = { fromDay: string; fromSession: string; toDay: string; toSession: string };

const afterAll = { toDay: 'infinity', toSession: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };

/**
 * Returns the next step. Steps go back in time, so each one ends where the previous one began. The first step also
 * includes sessions with a time in the future.
 */
function stepOf({ rebucketed_from_session: cursor }: Pending, nowMs: number, spanMs: number): Step {
  const endMs = cursor === null ? nowMs + dayMs : timeOfUuid7(cursor);
  const startMs = endMs - spanMs;
  const from = { fromDay: dayOf(startMs), fromSession: firstUuid7At(startMs) };
  return cursor === null ? { ...from, ...afterAll } : { ...from, toDay: dayOf(endMs), toSession: cursor };
}

async function rebucket(
  executor: Executor,
  { publisher_id, next_time_zone, oldest_day }: Pending,
  step: Step,
): Promise<void> {
  await executor.query("set local enable_seqscan = off; set local work_mem = '64MB'; set local jit = off");
  const values = [publisher_id, step.fromDay, step.fromSession, step.toDay, step.toSession];
  await executor.query(subtractSql, values);
  await executor.query(
    `update rollup_publishers set next_time_zone = $2, rebucketed_from_day = $3, rebucketed_from_session = $4
    where publisher_id = $1`,
    [publisher_id, next_time_zone, step.fromDay, step.fromSession],
  );
  await executor.query(addSql, values);
  await failOlderRollups(executor);
  if (oldest_day !== null && step.fromDay >= oldest_day) return;
  await executor.query(
    `update rollup_publishers
    set time_zone = next_time_zone, next_time_zone = null, rebucketed_from_day = null, rebucketed_from_session = null,
      compacted_until = least(compacted_until, coalesce($2::date, compacted_until) - 2)
    where publisher_id = $1`,
    [publisher_id, oldest_day],
  );
}
