import { isDeepStrictEqual } from 'node:util';
import type { View } from './resource.ts';
import type { Work } from './unit-of-work.ts';

export type AuditAction = 'create' | 'update' | 'remove' | 'restore' | 'stop' | 'resume' | 'sign_in' | 'lock';

type Change = {
  resource: { name: string; key: 'id' | 'name' | 'key'; ownerOf?: (row: View) => number };
  action: AuditAction;
  before: View | null;
  after: View | null;
};

/** Fields that are not logged, because they only show that a row was changed. */
const unlogged = new Set(['updated_at', 'created_at']);

/**
 * Writes an audit log entry with the actor, and with the old and new value of every changed field. Views never contain
 * secrets, so neither does the log.
 */
export async function audit(work: Work, { resource, action, before, after }: Change): Promise<void> {
  const row = (after ?? before) as View;
  const changes: Record<string, { old: unknown; new: unknown }> = {};
  for (const name of Object.keys({ ...before, ...after })) {
    const [was, is] = [before?.[name] ?? null, after?.[name] ?? null];
    if (!unlogged.has(name) && !isDeepStrictEqual(was, is)) changes[name] = { old: was, new: is };
  }
  const { actor } = work;
  const { rows } = await work.executor.query<{ id: string }>(
    `insert into audit_log (publisher_id, at, actor_kind, actor_id, actor_label, actor_publisher_id, action, resource,
      resource_id, changes)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning id`,
    [
      resource.ownerOf?.(row) ?? work.publisherId,
      new Date(work.nowMs),
      actor.kind,
      actor.id,
      actor.label,
      actor.publisherId,
      action,
      resource.name,
      String(row[resource.key]),
      changes,
    ],
  );
  work.entries?.push(...rows.map(({ id }) => id));
}

/**
 * Returns an SQL insert that logs changes made by the server itself, as a part of a larger statement. It locks the
 * publisher's log until the commit (migrations/baseline/04-management.sql). The logs of several publishers are locked
 * in a fixed order.
 * @param rows SQL that selects publisher_id, resource_id and changes (`{ field: { old, new } }`)
 */
export const insertSystemUpdates = ({ label, resource, rows }: SystemUpdates): string => `insert into audit_log
      (publisher_id, at, actor_kind, actor_id, actor_label, actor_publisher_id, action, resource, resource_id, changes)
    select publisher_id, now(), 'system', 0, '${label}', publisher_id, 'update', '${resource}', resource_id, changes
    from (${rows}) updated order by publisher_id`;

/** Audit log actor label of the dispatcher, which disables endpoints that keep failing. */
export const dispatcherLabel = 'dispatcher';

/** Updates made by the server. `label` identifies the server component in the audit log. */
type SystemUpdates = { label: string; resource: string; rows: string };
