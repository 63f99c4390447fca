import { checkBudgets, checkPlacements } from '../alerts/checks.ts';
import { recordOperationalEvents } from '../alerts/record.ts';
import { sendAlertMessages } from '../alerts/send.ts';
import { releaseExpiredReservations } from '../budgets/release.ts';
import { releaseExpiredSlices } from '../budgets/slice-rows.ts';
import type { Role } from '../config.ts';
import { createHeartbeat, heartbeatMs } from '../dashboard/heartbeat.ts';
import { ensurePartitions } from '../platform/db/partitions.ts';
import { hourMs, minuteMs } from '../platform/lib/time.ts';
import { eraseDueUsers } from '../privacy/erasure-job.ts';
import { compactRollups } from '../reports/rollup/compact.ts';
import { createRollupJob } from '../reports/rollup/job.ts';
import { raiseCampaignEvents } from '../tracking/campaign-events.ts';
import { startLogConsumer } from '../tracking/log/consumer.ts';
import { noteBacklogs } from '../webhooks/activity/activity.ts';
import { mergeCounts } from '../webhooks/deliveries/counts.ts';
import { parkDisabled } from '../webhooks/dispatcher/claim/park.ts';
import { runFailingEndpointCheck } from '../webhooks/dispatcher/settle/failing-endpoints.ts';
import { startDispatcherJob } from '../webhooks/dispatcher-job.ts';
import { removeAbandonedListeners } from '../webhooks/listen/listeners.ts';
import { sendOperationalEvents } from '../webhooks/operational/send.ts';
import { runRedeliveries } from '../webhooks/redelivery/runner.ts';
import type { Deps } from './create-deps.ts';
import { applyRetention } from './retention.ts';
import type { Job } from './run-jobs.ts';
import { userData } from './user-data.ts';

const everyRole: readonly Role[] = ['api', 'worker'];
const hourly = { roles: everyRole, pauseMs: hourMs, retryMs: minuteMs };
const partitionLock = "advisory lock 'perkwire_partitions'";

type JobDeps = Deps & { pid: number };

/** Jobs of what decisions are made with in memory. */
const refreshJobs = ({ usage, slices, model }: Pick<Deps, 'usage' | 'slices' | 'model'>): readonly Job[] => [
  {
    name: 'campaign usage',
    roles: ['api'],
    pauseMs: 1000,
    pausePerRun: 20,
    locks: 'none: reads campaign_usage into memory',
    run: usage.refresh,
  },
  {
    name: 'slices of totals',
    roles: ['api'],
    pauseMs: 1000,
    locks: 'its own rows of cap_slices, then rows of campaign_usage',
    run: slices.returnUnused,
    onStop: slices.close,
  },
  {
    name: 'ranking model',
    roles: ['api'],
    pauseMs: 30_000,
    pausePerRun: 20,
    locks: 'none: reads rollups into memory',
    run: model.refresh,
  },
];

/** Every background job; nothing else starts one. Several processes may run the same job at once. */
export const createJobs = (deps: JobDeps): readonly Job[] => {
  const { pool } = deps;
  const heartbeat = createHeartbeat(deps, deps.pid);
  return [
    {
      name: 'heartbeat',
      roles: everyRole,
      pauseMs: heartbeatMs,
      locks: 'its own row of processes',
      run: heartbeat.beat,
      onStop: heartbeat.remove,
    },
    ...refreshJobs(deps),
    {
      name: 'request notices',
      roles: ['api'],
      pauseMs: 1000,
      locks: 'rows of request_notices, in the order of their key',
      run: () => deps.notices.write(pool),
    },
    {
      name: 'live calls',
      roles: ['api'],
      pauseMs: 1000,
      locks: 'rows of live_calls and live_watches (skip locked)',
      run: () => deps.liveCalls.sync(pool),
    },
    {
      name: 'campaign outcomes',
      roles: ['api'],
      pauseMs: minuteMs,
      locks: 'rows of campaign_outcomes, in the order of their key',
      run: () => deps.outcomes.write(pool),
    },
    {
      name: 'reservation release',
      roles: ['worker'],
      pauseMs: 1000,
      locks: 'expired rows of cap_reservations, or of cap_slices (skip locked), then rows of campaign_usage',
      run: async () => {
        await releaseExpiredReservations(pool, deps.eventsStoredUntil());
        await releaseExpiredSlices(pool);
      },
    },
    {
      name: 'rollup',
      roles: ['worker'],
      pauseMs: 1000,
      locks: 'an advisory lock: one process at a time',
      run: createRollupJob(deps),
    },
    ...upkeepJobs(deps),
    ...eventLogJobs(deps),
    ...webhookJobs(deps),
    ...alertJobs(deps),
    {
      name: 'erasure',
      roles: ['worker'],
      pauseMs: 1000,
      locks: 'a lease on the erasure',
      run: (isStopped) => eraseDueUsers({ ...deps, userData }, isStopped),
    },
  ];
};

/** Jobs that make room and drop what is old. */
const upkeepJobs = (deps: JobDeps): readonly Job[] => [
  {
    name: 'partitions',
    ...hourly,
    locks: partitionLock,
    run: () => ensurePartitions(deps.pool, deps.now()),
  },
  {
    name: 'retention',
    ...hourly,
    locks: `${partitionLock}; partitioned tables, for which it waits 2 s at most`,
    run: () => applyRetention(deps),
  },
  {
    name: 'rollup compaction',
    ...hourly,
    locks: 'a row of rollup_publishers (skip locked)',
    run: async (isStopped) => void (await compactRollups(deps.pool, deps.now(), isStopped)),
  },
];

/** None without an event log. */
const eventLogJobs = (deps: JobDeps): readonly Job[] => {
  const { eventLog, pool } = deps;
  if (eventLog === null) return [];
  return [
    {
      name: 'event log position',
      roles: everyRole,
      pauseMs: 1000,
      locks: 'none: reads event_log_positions into memory',
      run: () => eventLog.refresh(pool),
    },
    {
      name: 'event log',
      roles: ['worker'],
      locks: 'leases in event_log_positions; a row of it, then what the events need',
      start: () => startLogConsumer(deps, eventLog),
    },
  ];
};

const alertJobs = (deps: JobDeps): readonly Job[] => [
  {
    name: 'budget alerts',
    roles: ['worker'],
    pauseMs: minuteMs,
    locks: 'rows of alerts, in the order of their key',
    run: () => checkBudgets(deps),
  },
  {
    name: 'placement alerts',
    roles: ['worker'],
    pauseMs: 10 * minuteMs,
    locks: 'an advisory lock: one process at a time; rows of alerts, in the order of their key',
    run: () => checkPlacements(deps),
  },
  {
    name: 'alert messages',
    roles: ['worker'],
    pauseMs: 1000,
    locks: 'a lease on the message (skip locked)',
    run: async () => void (await sendAlertMessages(deps)),
  },
];

const webhookJobs = (deps: JobDeps): readonly Job[] => [
  {
    name: 'webhook dispatcher',
    roles: ['worker'],
    locks: 'leases in delivery_queue',
    start: () => startDispatcherJob(deps, deps.databaseUrl),
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
    name: 'abandoned listeners',
    roles: ['worker'],
    pauseMs: minuteMs,
    locks: 'rows of webhook_endpoints',
    run: () => removeAbandonedListeners(deps.pool),
  },
  {
    name: 'operational events',
    roles: ['worker'],
    pauseMs: 1000,
    locks:
      'rows of operational_events (skip locked), then webhook_endpoints; rows of alerts, in the order of their key',
    run: async () => void (await sendOperationalEvents(deps.pool, deps.now(), recordOperationalEvents(deps.now()))),
  },
  {
    name: 'campaign events',
    roles: ['worker'],
    pauseMs: 10_000,
    locks: 'rows of operational_events, in the order of their key',
    run: () => raiseCampaignEvents(deps),
  },
  {
    name: 'redelivery',
    roles: ['worker'],
    pauseMs: 1000,
    locks: 'a row of redelivery_jobs, for one slice',
    run: (isStopped) => runRedeliveries(deps, isStopped),
  },
];
