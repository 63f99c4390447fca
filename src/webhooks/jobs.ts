import type pg from 'pg';
import { dropPartitions } from '../platform/db/partitions.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import type { ServerUrl } from '../platform/db/servers.ts';
import { everyRole, type Job } from '../platform/jobs.ts';
import { dayMs, dayOf, minuteMs } from '../platform/lib/time.ts';
import { deleteOldActivity, noteBacklogs } from './activity/activity.ts';
import { mergeCounts } from './deliveries/counts.ts';
import { parkDisabled } from './dispatcher/claim/park.ts';
import { runFailingEndpointCheck } from './dispatcher/settle/failing-endpoints.ts';
import { type DispatcherDeps, startDispatcherJob } from './dispatcher-job.ts';
import { removeAbandonedListeners } from './listen/listeners.ts';
import { checkStalledPulls } from './pull/stalled.ts';
import { runRedeliveries } from './redelivery/jobs.ts';

export const webhookJobs = (deps: DispatcherDeps & { pool: pg.Pool }, databaseUrl: ServerUrl): readonly Job[] => [
  {
    name: 'webhook dispatcher',
    roles: ['worker'],
    locks: 'leases in delivery_queue',
    start: () => startDispatcherJob(deps, databaseUrl),
  },
  {
    name: 'parking of deliveries',
    roles: ['worker'],
    pauseMs: 1000,
    locks: 'rows of delivery_queue (skip locked), then of deliveries',
    run: async () => void (await parkDisabled(deps.pool)),
  },
  {
    name: 'delivery counts',
    roles: ['worker'],
    pauseMs: 1000,
    locks: 'an advisory lock: one process at a time',
    run: () => mergeCounts(deps.pool),
  },
  {
    name: 'failing endpoints',
    roles: ['worker'],
    pauseMs: minuteMs / 2,
    locks: 'rows of webhook_endpoints and endpoint_health',
    run: () => runFailingEndpointCheck(deps),
  },
  {
    name: 'endpoint activity',
    roles: everyRole,
    pauseMs: 5000,
    locks: 'rows of endpoint_activity, in the order of their key',
    run: () => deps.activity.write(deps.pool),
  },
  {
    name: 'endpoint backlogs',
    roles: ['worker'],
    pauseMs: minuteMs,
    locks: 'rows of endpoint_activity, in the order of their key',
    run: () => noteBacklogs(deps.pool, deps.now()),
  },
  {
    name: 'stalled pulls',
    roles: ['worker'],
    pauseMs: minuteMs,
    locks: 'rows of endpoint_health',
    run: () => checkStalledPulls(deps),
  },
  {
    name: 'abandoned listeners',
    roles: ['worker'],
    pauseMs: minuteMs,
    locks: 'rows of webhook_endpoints',
    run: () => removeAbandonedListeners(deps.pool),
  },
  {
    name: 'redelivery',
    roles: ['worker'],
    pauseMs: 1000,
    locks: 'a row of redelivery_jobs, for one slice',
    run: (isStopped) => runRedeliveries(deps, isStopped),
  },
];

/**
 * Deletes deliveries after `RETENTION_DELIVERY_DAYS`:
 * - A day is retained longer while one of its deliveries is queued, for example for a paused endpoint, but at most for
 *   twice that time.
 * - Deliveries that are still queued after that are counted as `discarded`.
 * - A removed endpoint is deleted together with its last delivery. A default endpoint is retained, because it may be
 *   set again.
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
    // A lifetime budget stays reached forever. Keep its row, which shows that the event has already been sent.
    `delete from operational_events where raised_at is null and sent_at < $1::date - interval '60 days'
      and not (event = 'campaign.budget_reached' and subject like '% lifetime%')`,
    [keepFrom],
  );
  await pool.query("delete from redelivery_jobs where status <> 'running' and created_at < $1::date", [keepFrom]);
  return { partitions: attempts + deliveries, discarded: rowCount ?? 0 };
};
