import { dropPartitions } from '../platform/db/partitions.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import { dayMs, dayOf } from '../platform/lib/time.ts';

/** Events and conversions are kept RETENTION_RAW_DAYS. */
export const applyTrackingRetention: RetentionStep = async (pool, { retentionRawDays }, nowMs) => {
  const keepFrom = dayOf(nowMs - retentionRawDays * dayMs);
  const partitions = await dropPartitions(pool, ['events', 'conversions'], keepFrom);
  return { partitions };
};
