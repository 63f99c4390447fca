/** The actor in the audit log. */
export const dispatcherLabel = 'dispatcher';

/**
 * SQL: records disabled endpoints in the audit log (rows of `disabled`: publisher_id, event, disabled_reason).
 */
export const auditDisabled = `insert into audit_log
      (publisher_id, at, actor_kind, actor_id, actor_label, actor_publisher_id, action, resource, resource_id, changes)
    select publisher_id, now(), 'system', 0, '${dispatcherLabel}', publisher_id, 'update', 'webhook-endpoints', event,
      jsonb_build_object('enabled', '{"old": true, "new": false}'::jsonb,
        'disabled_reason', jsonb_build_object('old', null, 'new', disabled_reason))
    from disabled`;
