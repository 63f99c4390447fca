import type { ServerUrl } from '../platform/db/servers.ts';
import { everyRole, type Job } from '../platform/jobs.ts';
import { minuteMs } from '../platform/lib/time.ts';
import { noteBacklogs } from './activity/activity.ts';
import { mergeCounts } from './deliveries/counts.ts';
import { parkDisabled } from './dispatcher/claim/park.ts';
import { runFailingEndpointCheck } from './dispatcher/settle/failing-endpoints.ts';
import { startDispatcherJob } from './dispatcher-job.ts';
import { removeAbandonedListeners } from './listen/listeners.ts';
import type { WebhookDeps } from './ports.ts';
import { runRedeliveries } from './redelivery/runner.ts';

export const webhookJobs = (deps: WebhookDeps, databaseUrl: ServerUrl): readonly Job[] => [
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
