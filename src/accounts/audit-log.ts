import { Type } from '@sinclair/typebox';
import { orNull, type Resource, timestamp } from '../management/resource.ts';
import { isOperator } from '../management/unit-of-work.ts';

/** SQL of the actor. Only operators learn which operator it was. */
export const actorColumns = (reader: 'publisher' | 'operator') =>
  reader === 'operator'
    ? { actor_id: 'actor_id', actor_label: 'actor_label' }
    : {
        actor_id: 'case when actor_publisher_id = publisher_id then actor_id end',
        actor_label: "case when actor_publisher_id = publisher_id then actor_label else 'Operator' end",
      };

/** The audit log as a read-only kind of rows. */
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
        '`create`, `update`, `remove`, `restore`; `stop` and `resume` of the kill switch; of users also `sign_in`, ' +
        'and `lock` after too many wrong passwords.',
    }),
    resource: Type.String({ description: 'Kind, such as `offers`.' }),
    resource_id: Type.String({ description: 'Id; the name of a placement, the e-mail address of a user.' }),
    changes: Type.Record(Type.String(), Type.Object({ old: Type.Unknown(), new: Type.Unknown() })),
  },
  expressions: ({ actor }): Record<string, string> => (isOperator(actor) ? {} : actorColumns('publisher')),
  sorts: { id: 'bigint' },
  defaultSort: '-id',
  filters: ['resource', 'resource_id', 'action', 'actor_kind', 'actor_id'],
  searched: [],
};
