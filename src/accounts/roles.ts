import { Type } from '@sinclair/typebox';
import { nameField } from '../management/fields.ts';
import { type Resource, stamps } from '../management/resource.ts';
import {
  isOperator,
  operatorPermission,
  type PermissionEntry,
  permissionsOf,
  type Work,
} from '../management/unit-of-work.ts';
import type { Executor } from '../platform/db/pool.ts';
import { AppError } from '../platform/errors.ts';
import type { Permission } from '../platform/http/auth.ts';
import { problem } from '../platform/problem.ts';
import { type CustomRole, isRole, type MemberRole, type Role } from '../shell/context.ts';

/**
 * Resource for a publisher's custom roles (docs/reference/access-and-errors.md#roles). The permissions in a role are
 * checked by `hasRole` (shell/context.ts). Users cannot create, change or remove a role with more permissions than
 * their own. A role that is in use cannot be removed.
 * @param permissions permissions of all modules
 */
export const rolesOf = (permissions: readonly PermissionEntry[]): Resource => ({
  name: 'roles',
  noun: 'role',
  table: 'member_roles',
  key: 'id',
  permission: 'configurations',
  input: Type.Object(
    {
      name: nameField(),
      permissions: Type.Array(Type.Union(grantable(permissions).map(({ name }) => Type.Literal(name))), {
        minItems: 1,
        uniqueItems: true,
      }),
    },
    { additionalProperties: false },
  ),
  readOnly: stamps,
  heldBy: [{ noun: 'member', table: 'memberships', column: 'custom_role_id', removable: false }],
  unique: { member_roles_name: 'name' },
  sorts: { id: 'integer', name: 'text', created_at: 'timestamptz', updated_at: 'timestamptz' },
  filters: [],
  searched: ['name'],
  check: (values, { actor }, current) => {
    requireAtMost(actor, values.permissions as Permission[]);
    if (current !== null) requireAtMost(actor, current.permissions as Permission[]);
    const isBuiltIn = isRole(String(values.name).toLowerCase());
    return isBuiltIn ? [{ path: '/name', message: problem('builtInRole') }] : [];
  },
  beforeRemove: async ({ actor }, current) => requireAtMost(actor, current.permissions as Permission[]),
});

/** Returns the permissions that a custom role can have: all except those reserved for operators. */
export const grantable = (permissions: readonly PermissionEntry[]): readonly PermissionEntry[] =>
  permissions.filter(({ name }) => name !== operatorPermission);

/**
 * Checks that the actor has all permissions that it wants to grant.
 * @throws AppError `permission_denied` with the missing permissions
 */
export function requireAtMost(actor: Work['actor'], requested: readonly Permission[]): void {
  const beyond = isOperator(actor) ? [] : requested.filter((permission) => !actor.permissions.has(permission));
  if (beyond.length === 0) return;
  throw new AppError('permission_denied', {
    message: problem('beyondMaker'),
    details: beyond.map((permission) => ({
      path: '/permissions',
      message: problem('beyondPermissions', { permission }),
    })),
  });
}

/**
 * Returns whether a role includes all permissions of another role. If so, users with the first role can grant and
 * manage the other one.
 */
export function covers(role: MemberRole, other: MemberRole, permissions: readonly PermissionEntry[]): boolean {
  const ownPermissions = permissionsOf(role, permissions);
  return [...permissionsOf(other, permissions)].every((permission) => ownPermissions.has(permission));
}

/** Lists the publisher's custom roles by name. */
export async function listCustomRoles(executor: Executor, publisherId: number): Promise<CustomRole[]> {
  const { rows } = await executor.query<CustomRole>(
    'select id, name, permissions from member_roles where publisher_id = $1 order by name, id',
    [publisherId],
  );
  return rows;
}

/** Returns the membership columns that store a role: `role` and `custom_role_id`. */
export const storedRole = (role: MemberRole): [Role, number | null] =>
  typeof role === 'string' ? [role, null] : ['analyst', role.id];

/** Returns the label of a role in the audit log and in forms, such as `manager` or `Support (12)`. */
export const roleLabel = (role: MemberRole): string => (typeof role === 'string' ? role : `${role.name} (${role.id})`);
