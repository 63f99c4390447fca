import { type AuditAction, audit } from '../../management/audit.ts';
import type { View } from '../../management/resource.ts';
import type { Actor } from '../../management/unit-of-work.ts';
import type { Executor } from '../../platform/db/pool.ts';
import type { User } from '../../shell/context.ts';
import { roleLabel } from '../roles.ts';

/** Audit log resource for users. Log entries identify users by e-mail address. */
const resource = { name: 'users', key: 'id' } as const;

/** ID of the operators' audit log. Publisher IDs start at 1. */
const operatorLogId = 0;

export type AccountChange = {
  actor: Actor;
  user: { email: string; publisherId: number | null };
  action: AuditAction;
  nowMs: number;
};

/**
 * Records an account change in the audit log of its publisher. Entries may mention a password or a link, but never
 * contain one.
 */
export async function auditAccount(
  executor: Executor,
  { actor, user, action, nowMs }: AccountChange,
  before: View | null = null,
  after: View | null = null,
): Promise<void> {
  const withEmailAsId = (view: View | null): View => ({ ...view, id: user.email });
  const work = { executor, actor, publisherId: user.publisherId ?? operatorLogId, nowMs };
  await audit(work, { resource, action, before: before && withEmailAsId(before), after: withEmailAsId(after) });
}

/** Returns the audit log representation of a new account. */
export const accountView = ({ role, hasPassword }: User): View => ({
  role: roleLabel(role),
  password: passwordState({ hasPassword }),
});

export const passwordState = ({ hasPassword }: { hasPassword: boolean }): string => (hasPassword ? 'set' : 'none');

/**
 * Returns an actor for changes that are made without a signed-in user.
 * @param label actor name, such as the name of a command
 * @param publisherId publisher whose audit log is used, or null for the operators' log
 */
export const systemActor = (label: string, publisherId: number | null = null): Actor => ({
  kind: 'system',
  id: 0,
  label,
  permissions: new Set(),
  expiresAtMs: null,
  ratePerS: null,
  restrictions: null,
  publisherId,
});

/** Actor label for lockouts. */
export const signInLabel = 'sign-in';

/** Actor label for password resets requested by users. */
export const resetLabel = 'password reset';

/** Actor label for changes caused by a sign-in at the OpenID provider. */
export const singleSignOnLabel = 'single sign-on';
