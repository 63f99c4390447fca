import { insertSystemUpdates } from '../../../catalog/management/audit.ts';
import { endpointResource } from '../../endpoints/audit.ts';

/** The actor in the audit log. */
export const dispatcherLabel = 'dispatcher';

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
