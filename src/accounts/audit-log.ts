import { Type } from '@sinclair/typebox';
import { orNull, type Resource, timestamp } from '../management/resource.ts';
import { isOperator } from '../management/unit-of-work.ts';

/** Returns the SQL columns that identify the actor. Only operators can see which operator made a change. */
export const actorColumns = (reader: 'publisher' | 'operator') =>
  reader === 'operator'
    ? { actor_id: 'actor_id', actor_label: 'actor_label' }
    : {
        actor_id: 'case when actor_publisher_id = publisher_id then actor_id end',
        actor_label: "case when actor_publisher_id = publisher_id then actor_label else 'Operator' end",
      };

/** Audit log as a read-only resource. */
export const auditLog: Resource = {
  name: 'audit',
  noun: 'audit entry',
  schemaName: 'AuditEntry',
  table: 'audit_log',
  key: 'id',
  permission: 'configurations',
  input: Type.Object({}),
  readOnly: {
    at: timestamp(),
    actor_kind: Type.String({
      description:
        'Type of the actor: `key`, `user` or `system`. `system` is an operator command, the webhook dispatcher, ' +
        'or the sign-in process.',
    }),
    actor_id: orNull(Type.Integer(), { description: 'ID of the key or user, or `null` for operator commands.' }),
    actor_label: Type.String({ description: 'Name of the key or e-mail address of the user.' }),
    action: Type.String({
      description:
        'Action: `create`, `update`, `remove` or `restore`; `stop` or `resume` for the kill switch; for users ' +
        'also `sign_in`, and `lock` after too many wrong passwords.',
    }),
    resource: Type.String({ description: 'Type of the resource, such as `offers`.' }),
    resource_id: Type.String({
      description: 'ID of the resource: the name of a placement, the e-mail address of a user, or a numeric ID.',
    }),
    changes: Type.Record(Type.String(), Type.Object({ old: Type.Unknown(), new: Type.Unknown() })),
  },
  expressions: ({ actor }): Record<string, string> => (isOperator(actor) ? {} : actorColumns('publisher')),
  sorts: { id: 'bigint' },
  defaultSort: '-id',
  filters: ['resource', 'resource_id', 'action', 'actor_kind', 'actor_id'],
  searched: [],
};
