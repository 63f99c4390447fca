import { dropPartitions } from '../platform/db/partitions.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import { dayMs, dayOf } from '../platform/lib/time.ts';
import { deleteOldActivity } from './activity/activity.ts';

/**
 * Deliveries are kept RETENTION_DELIVERY_DAYS. A day is kept for longer while one of its deliveries is queued, such as
 * that of a paused endpoint, but not beyond twice that time: what is still queued then is counted as `discarded`.
 * A removed endpoint goes with the last of its deliveries; that of an event stays, as it may be set again.
 */
export const applyWebhookRetention: RetentionStep = async (pool, { retentionDeliveryDays }, nowMs) => {
  const discardBefore = dayOf(nowMs - 2 * retentionDeliveryDays * dayMs);
  const keepFrom = dayOf(nowMs - retentionDeliveryDays * dayMs);
  const { rowCount } = await pool.query('delete from delivery_queue where day < $1::date', [discardBefore]);
  const { rows } = await pool.query<{ day: string }>(
    'select least($1::date, (select min(day) from delivery_queue))::text as day',
    [keepFrom],
  );
  const day = rows[0]?.day ?? keepFrom;
  await deleteOldActivity(pool, nowMs);
  const attempts = await dropPartitions(pool, ['delivery_attempts'], day);
  const deliveries = await dropPartitions(pool, ['deliveries'], day, (executor) =>
    executor.query('delete from delivery_counts where day < $1::date', [day]),
  );
  await pool.query('delete from webhook_endpoints where event is null and deleted_at < $1::date', [day]);
  await pool.query(
    "delete from operational_events where raised_at is null and sent_at < $1::date - interval '60 days'",
    [keepFrom],
  );
  await pool.query("delete from redelivery_jobs where status <> 'running' and created_at < $1::date", [keepFrom]);
  return { partitions: attempts + deliveries, discarded: rowCount ?? 0 };
};
