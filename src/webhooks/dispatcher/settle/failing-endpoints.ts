import { dispatcherLabel, insertSystemUpdates } from '../../../management/audit.ts';
import type { Executor } from '../../../platform/db/pool.ts';
import type { Logger } from '../../../platform/logger.ts';
import { endpointResource } from '../../endpoints/audit.ts';
import { endpointData, raiseEvents } from '../../raise-events.ts';

/**
 * Time without a successful call after which a warning is sent about an endpoint. After `disabledAfter`, the endpoint
 * is disabled if it also has the minimum number of failed calls.
 */
const warnedAfter = '24 hours';
const disabledAfter = '5 days';
const disabledMinFailures = 20;

export type FailingEndpoints = { disabled: number[]; warned: number[] };

/**
 * Sends one warning about each endpoint that has failed for a day, and disables endpoints that have failed for several
 * days. Skips paused endpoints. Also removes the rate limit from resumed endpoints once their backlog is delivered.
 * @returns the IDs of the endpoints that were disabled and of those with a warning
 */
export async function checkFailingEndpoints(executor: Executor): Promise<FailingEndpoints> {
  const disabled = await executor.query<{ id: number }>(
    `with disabled as (
      update webhook_endpoints e set enabled = false, disabled_reason = 'failing', updated_at = now()
      from endpoint_health h
      where h.endpoint_id = e.id and e.enabled and e.paused_at is null and h.failures >= ${disabledMinFailures}
        and h.first_failure_at < now() - interval '${disabledAfter}'
      returning e.id, e.publisher_id, e.event, e.disabled_reason
    ), audited as (
      ${auditDisabled}
    ), raised as (
      ${raiseDisabled}
    )
    select id from disabled`,
  );
  const warned = await executor.query<{ id: number }>(
    `update endpoint_health h set warned_at = now() from webhook_endpoints e
    where h.endpoint_id = e.id and e.enabled and e.paused_at is null and h.warned_at is null
      and h.first_failure_at < now() - interval '${warnedAfter}'
    returning e.id`,
  );
  await executor.query(
    `update webhook_endpoints e set resume_rate_per_s = null
    where resume_rate_per_s is not null and paused_at is null
      and not exists (
        select from delivery_queue q where q.lane = 'live' and q.endpoint_id = e.id and q.due_at <= now()
      )`,
  );
  return { disabled: disabled.rows.map((row) => row.id), warned: warned.rows.map((row) => row.id) };
}

/** Runs the check for failing endpoints as a background job and logs its results. */
export async function runFailingEndpointCheck({ pool, logger }: { pool: Executor; logger: Logger }): Promise<void> {
  const { disabled, warned } = await checkFailingEndpoints(pool);
  if (disabled.length > 0) logger.warn({ endpointIds: disabled }, 'endpoints disabled after days of failures');
  if (warned.length > 0) logger.warn({ endpointIds: warned }, 'endpoints failing for a day');
}

/**
 * SQL that raises an event for each disabled endpoint. The statement must provide them as `disabled`, with the columns
 * id, disabled_reason, ….
 */
export const raiseDisabled = raiseEvents(
  'endpoint.disabled',
  `select e.publisher_id, e.id::text as subject, 1 as count,
      ${endpointData} || jsonb_build_object('reason', d.disabled_reason) as data
    from disabled d join webhook_endpoints e on e.id = d.id`,
);

/**
 * SQL that records disabled endpoints in the audit log. The statement must provide them as `disabled`, with the columns
 * id, publisher_id, event and disabled_reason.
 */
export const auditDisabled = insertSystemUpdates({
  label: dispatcherLabel,
  resource: endpointResource.name,
  rows: `select publisher_id, coalesce(event, id::text) as resource_id, jsonb_build_object(
      'enabled', jsonb_build_object('old', true, 'new', false),
      'disabled_reason', jsonb_build_object('old', null, 'new', disabled_reason)
    ) as changes
    from disabled`,
});
