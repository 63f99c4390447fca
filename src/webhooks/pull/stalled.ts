import type { Executor } from '../../platform/db/pool.ts';
import type { Logger } from '../../platform/logger.ts';
import { pullUrl } from '../destinations/kinds.ts';
import { type Observation, recordHealth } from '../dispatcher/settle/health.ts';
import { failingAfterFailures, isFailing } from '../endpoint-store.ts';

/** Time without an acknowledgement after which a pull endpoint with waiting events counts as failing. */
const stalledAfter = '1 hour';

type PullEndpoint = { endpointId: number; maxInFlight: number };

const observed = (endpoint: PullEndpoint, succeeded: boolean): Observation => ({
  ...endpoint,
  url: pullUrl,
  successes: succeeded ? 1 : 0,
  succeeded,
  timedOut: false,
  failures: succeeded ? 0 : failingAfterFailures,
  timeouts: 0,
  onlyTimeouts: false,
  calls: [{ ageMs: 0, failed: !succeeded }],
  lastFailed: null,
});

/** Records that a consumer has acknowledged events. An endpoint that was failing recovers. */
export const recordAcknowledgement = (executor: Executor, endpoint: PullEndpoint) =>
  recordHealth(executor, [observed(endpoint, true)]);

/**
 * Marks pull endpoints as failing if events are waiting and no consumer acknowledges any, and raises the corresponding
 * operational events. The endpoints are never disabled for this reason: events wait until their retention period ends.
 */
export async function checkStalledPulls({ pool, logger }: { pool: Executor; logger: Logger }): Promise<void> {
  const { rows } = await pool.query<PullEndpoint>(
    `select e.id as "endpointId", e.max_in_flight::int as "maxInFlight"
    from pull_cursors c join webhook_endpoints e on e.id = c.endpoint_id join endpoint_health h on h.endpoint_id = e.id
    where e.url = '${pullUrl}' and e.enabled and e.paused_at is null and e.deleted_at is null and not ${isFailing('h')}
      and (c.acknowledged_at is null or c.acknowledged_at < now() - interval '${stalledAfter}')
      and exists (
        select from delivery_queue q
        where q.lane = 'live' and q.endpoint_id = e.id and q.due_at < now() - interval '${stalledAfter}'
      )`,
  );
  if (rows.length === 0) return;
  await recordHealth(
    pool,
    rows.map((endpoint) => observed(endpoint, false)),
  );
  logger.warn({ endpointIds: rows.map(({ endpointId }) => endpointId) }, 'events are not pulled');
}
