import { dropPartitions } from '../platform/db/partitions.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import { dayMs, dayOf } from '../platform/lib/time.ts';
import { type EraseWithSessions, exportBySessions } from '../platform/user-data.ts';

/**
 * Removes the advertiser's transaction IDs from conversions in these sessions. The conversions remain, so that counts
 * and amounts do not change.
 */
export const eraseTransactionIds: EraseWithSessions = async (executor, sessions) => {
  await executor.query(
    'update conversions set txn_id = null where day = any($1::date[]) and session_id = any($2::uuid[])',
    [[...new Set(sessions.map(({ day }) => day))], sessions.map(({ id }) => id)],
  );
  return {};
};

/** Exports the conversions of the user's sessions. */
export const exportConversions = exportBySessions(
  `select session_id, offer_id, campaign_id, event, txn_id, void,
    payout_micros::text, unbilled_micros::text, currency,
    loyalty_micros::text, booked_at
  from conversions
  where day = any($1::date[])
    and session_id = any($2::uuid[])
  order by session_id, booked_at`,
);

/** Exports the tracking events of the user's sessions. */
export const exportEvents = exportBySessions(
  `select session_id, offer_id, campaign_id, kind, at, suspicious
  from events
  where day = any($1::date[])
    and session_id = any($2::uuid[])
  order by session_id, at`,
);

/** Deletes events and conversions that are older than `RETENTION_RAW_DAYS`. */
export const applyTrackingRetention: RetentionStep = async (pool, { retentionRawDays }, nowMs) => {
  const keepFrom = dayOf(nowMs - retentionRawDays * dayMs);
  const partitions = await dropPartitions(pool, ['events', 'conversions'], keepFrom);
  return { partitions };
};
