import type { Permission } from '../platform/http/auth.ts';
import type { MessageKey } from '../platform/i18n/messages.ts';
import { hasRole, type Role } from '../shell/viewer.ts';

/** A permission as the room that requires it hands it in. */
export type PermissionEntry = {
  name: Permission;
  /** Users of this role and above hold it, and may create keys with it. */
  role: Role;
  /** What a key may do with it. */
  text: MessageKey;
};

/** Makes a key or user an operator, who sees all publishers. */
export const operatorPermission: Permission = 'accounts';

/** What users of a role hold. */
export const permissionsOf = (role: Role, permissions: readonly PermissionEntry[]): ReadonlySet<Permission> =>
  new Set(permissions.filter((entry) => hasRole(role, entry.role)).map(({ name }) => name));
