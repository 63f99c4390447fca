import { dropPartitions } from '../platform/db/partitions.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import { dayMs, dayOf } from '../platform/lib/time.ts';

const deleteDevSql = `
delete from usp_sessions using sessions
where sessions.dev and sessions.created_at < $1
  and usp_sessions.day = sessions.day and usp_sessions.session_id = sessions.id`;

/**
 * Selections are kept RETENTION_RAW_DAYS, those of dev sessions one day. Runs before the dev sessions themselves are
 * deleted.
 */
export const applyPerksRetention: RetentionStep = async (pool, { retentionRawDays }, nowMs) => {
  const keepFrom = dayOf(nowMs - retentionRawDays * dayMs);
  const partitions = await dropPartitions(pool, ['usp_sessions'], keepFrom);
  const { rowCount } = await pool.query(deleteDevSql, [new Date(nowMs - dayMs)]);
  return { partitions, devSelections: rowCount ?? 0 };
};
