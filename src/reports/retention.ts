import { dropPartitions } from '../platform/db/partitions.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import { dayMs, dayOf, minuteMs } from '../platform/lib/time.ts';
import { minutesKept } from './rollup/roll-up.ts';

/**
 * Bookings are kept RETENTION_RAW_DAYS, rollups RETENTION_ROLLUP_DAYS. The partitions of rollups are months, which are
 * dropped when all of their days are past.
 */
export const applyReportRetention: RetentionStep = async (pool, { retentionRawDays, retentionRollupDays }, nowMs) => {
  const rawFrom = dayOf(nowMs - retentionRawDays * dayMs);
  const rollupFrom = dayOf(nowMs - retentionRollupDays * dayMs);
  const days = await dropPartitions(pool, ['bookings'], rawFrom);
  const values = await dropPartitions(pool, ['custom_values'], rollupFrom);
  const months = await dropPartitions(pool, ['rollups', 'custom_rollups'], `${rollupFrom.slice(0, 7)}-01`);
  await pool.query('delete from reconciliation where day < $1::date', [rollupFrom]);
  await pool.query('delete from minute_rollups where minute < $1', [new Date(nowMs - minutesKept * minuteMs)]);
  return { partitions: days + values + months };
};
