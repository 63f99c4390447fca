import { dropPartitions, dropTransaction } from '../platform/db/partitions.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import { dayMs, dayOf } from '../platform/lib/time.ts';
import { deleteOldActivity } from './activity/activity.ts';

/**
 * Deliveries are kept RETENTION_DELIVERY_DAYS. A day is kept for longer while one of its deliveries is queued, such as
 * that of a paused endpoint, but not beyond twice that time: what is still queued then is counted as `discarded`.
 * A removed endpoint goes with the last of its deliveries; that of an event stays, as it may be set again.
 */
export const applyWebhookRetention: RetentionStep = (pool, { retentionDeliveryDays }, nowMs) =>
  dropTransaction(pool, async (executor) => {
    const discardBefore = dayOf(nowMs - 2 * retentionDeliveryDays * dayMs);
    const keepFrom = dayOf(nowMs - retentionDeliveryDays * dayMs);
    const { rowCount } = await executor.query('delete from delivery_queue where day < $1::date', [discardBefore]);
    const { rows } = await executor.query<{ day: string }>(
      'select least($1::date, (select min(day) from delivery_queue))::text as day',
      [keepFrom],
    );
    const day = rows[0]?.day ?? keepFrom;
    await deleteOldActivity(executor, nowMs);
    const partitions = await dropPartitions(executor, ['deliveries', 'delivery_attempts'], day);
    await executor.query('delete from delivery_counts where day < $1::date', [day]);
    await executor.query('delete from webhook_endpoints where event is null and deleted_at < $1::date', [day]);
    await executor.query(
      "delete from operational_events where raised_at is null and sent_at < $1::date - interval '60 days'",
      [keepFrom],
    );
    await executor.query("delete from redelivery_jobs where status <> 'running' and created_at < $1::date", [keepFrom]);
    return { partitions, discarded: rowCount ?? 0 };
  });
