import { isDeepStrictEqual } from 'node:util';
import { Type } from '@sinclair/typebox';
import { orNull, type Resource, timestamp, type View } from './resource.ts';
import { isOperator, type Work } from './unit-of-work.ts';

export type AuditAction = 'create' | 'update' | 'remove' | 'restore' | 'sign_in' | 'lock';

type Change = {
  resource: Pick<Resource, 'name' | 'key' | 'ownerOf'>;
  action: AuditAction;
  before: View | null;
  after: View | null;
};

/** Fields that only say that something changed. */
const unlogged = new Set(['updated_at', 'created_at']);

/**
 * Writes down who changed what: every field that differs, old and new. Views hold no secrets, so the log holds none.
 */
export async function audit(work: Work, { resource, action, before, after }: Change): Promise<void> {
  const row = (after ?? before) as View;
  const changes: Record<string, { old: unknown; new: unknown }> = {};
  for (const name of Object.keys({ ...before, ...after })) {
    const [was, is] = [before?.[name] ?? null, after?.[name] ?? null];
    if (!unlogged.has(name) && !isDeepStrictEqual(was, is)) changes[name] = { old: was, new: is };
  }
  const { actor } = work;
  await work.executor.query(
    `insert into audit_log (publisher_id, at, actor_kind, actor_id, actor_label, actor_publisher_id, action, resource,
      resource_id, changes)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
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
}

/**
 * SQL of an insert that records updates which the server made by itself; for use in a larger statement.
 * @param rows SQL that selects publisher_id, resource_id and changes (`{ field: { old, new } }`)
 */
export const insertSystemUpdates = ({ label, resource, rows }: SystemUpdates): string => `insert into audit_log
      (publisher_id, at, actor_kind, actor_id, actor_label, actor_publisher_id, action, resource, resource_id, changes)
    select publisher_id, now(), 'system', 0, '${label}', publisher_id, 'update', '${resource}', resource_id, changes
    from (${rows}) updated`;

/** `label`: the part of the server, as the log names it. */
type SystemUpdates = { label: string; resource: string; rows: string };

/** The log as a kind of row that is only read. Who is no operator does not learn which operator it was. */
export const auditLog: Resource = {
  name: 'audit',
  noun: 'entry of the audit log',
  schemaName: 'AuditEntry',
  table: 'audit_log',
  key: 'id',
  permission: 'configurations',
  input: Type.Object({}),
  readOnly: {
    at: timestamp(),
    actor_kind: Type.String({
      description: '`key`, `user`, or `system`: a command of the operator, the dispatcher, or the sign-in.',
    }),
    actor_id: orNull(Type.Integer(), { description: 'Of the key or user; null: of an operator.' }),
    actor_label: Type.String({ description: 'Name of the key, e-mail address of the user.' }),
    action: Type.String({
      description:
        '`create`, `update`, `remove`, `restore`; of users also `sign_in`, and `lock` after too many wrong passwords.',
    }),
    resource: Type.String({ description: 'Kind, such as `offers`.' }),
    resource_id: Type.String({ description: 'Id; the name of a placement, the e-mail address of a user.' }),
    changes: Type.Record(Type.String(), Type.Object({ old: Type.Unknown(), new: Type.Unknown() })),
  },
  expressions: ({ actor }): Record<string, string> =>
    isOperator(actor)
      ? {}
      : {
          actor_id: 'case when actor_publisher_id = publisher_id then actor_id end',
          actor_label: "case when actor_publisher_id = publisher_id then actor_label else 'Operator' end",
        },
  sorts: { id: 'bigint' },
  defaultSort: '-id',
  filters: ['resource', 'resource_id', 'action', 'actor_kind', 'actor_id'],
  searched: [],
};
