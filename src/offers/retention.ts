import type pg from 'pg';
import { dropPartitions } from '../platform/db/partitions.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import { dayMs, dayOf } from '../platform/lib/time.ts';
import { deleteOldDecisionStates } from './decision-log/states.ts';
import { deleteOldApiCalls } from './request-log/api-log-store.ts';
import { deleteOldOutcomes } from './request-log/outcomes.ts';
import { deleteOldRequests } from './request-log/store.ts';

/** Number of dev sessions to delete per statement. */
const devBatch = 5000;

/** Skips sessions that an erasure has locked. Waiting for these locks while holding others could cause a deadlock. */
const deleteDevSql = `
with old as materialized (
  select day, id from sessions where dev and created_at < $1 limit ${devBatch} for update skip locked
)
delete from sessions
where day = any(array(select distinct day from old)) and id = any(array(select id from old))`;

/** Deletes sessions after RETENTION_RAW_DAYS days, and dev sessions after one day. */
export const applyOfferRetention: RetentionStep = async (pool, { retentionRawDays }, nowMs) => {
  const keepFrom = dayOf(nowMs - retentionRawDays * dayMs);
  const partitions = await dropPartitions(pool, ['sessions'], keepFrom);
  const devSessions = await deleteDevSessions(pool, new Date(nowMs - dayMs));
  await deleteOldDecisionStates(pool, nowMs);
  await deleteOldRequests(pool, nowMs);
  await deleteOldOutcomes(pool, nowMs);
  await deleteOldApiCalls(pool, nowMs);
  return { partitions, devSessions };
};

async function deleteDevSessions(pool: pg.Pool, before: Date): Promise<number> {
  let total = 0;
  for (;;) {
    const { rowCount } = await pool.query(deleteDevSql, [before]);
    total += rowCount ?? 0;
    if ((rowCount ?? 0) < devBatch) return total;
  }
}
