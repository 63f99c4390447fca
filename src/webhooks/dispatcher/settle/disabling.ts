import { dispatcherLabel, insertSystemUpdates } from '../../../management/audit.ts';
import { endpointResource } from '../../endpoints/audit.ts';
import { endpointData, raiseEvents } from '../../raise-events.ts';

/** SQL: raises an event for each disabled endpoint (rows of `disabled`: id, disabled_reason, …). */
export const raiseDisabled = raiseEvents(
  'endpoint.disabled',
  `select e.publisher_id, e.id::text as subject, 1 as count,
      ${endpointData} || jsonb_build_object('reason', d.disabled_reason) as data
    from disabled d join webhook_endpoints e on e.id = d.id`,
);

/** SQL: records disabled endpoints (rows of `disabled`: id, publisher_id, event, disabled_reason) in the audit log. */
export const auditDisabled = insertSystemUpdates({
  label: dispatcherLabel,
  resource: endpointResource.name,
  rows: `select publisher_id, coalesce(event, id::text) as resource_id, jsonb_build_object(
      'enabled', jsonb_build_object('old', true, 'new', false),
      'disabled_reason', jsonb_build_object('old', null, 'new', disabled_reason)
    ) as changes
    from disabled`,
});
