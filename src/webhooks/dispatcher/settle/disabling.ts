/** Who disables, in the audit log. */
export const dispatcherLabel = 'dispatcher';

/**
 * SQL: writes into the audit log what became of endpoints (rows of `disabled`: publisher_id, event, disabled_reason).
 */
export const auditDisabled = `insert into audit_log
      (publisher_id, at, actor_kind, actor_id, actor_label, actor_publisher_id, action, resource, resource_id, changes)
    select publisher_id, now(), 'system', 0, '${dispatcherLabel}', publisher_id, 'update', 'webhook-endpoints', event,
      jsonb_build_object('enabled', '{"old": true, "new": false}'::jsonb,
        'disabled_reason', jsonb_build_object('old', null, 'new', disabled_reason))
    from disabled`;
