import { type AuditAction, audit } from '../../management/audit.ts';
import type { View } from '../../management/resource.ts';
import type { Actor } from '../../management/unit-of-work.ts';
import type { Executor } from '../../platform/db/pool.ts';
import type { User } from '../../shell/context.ts';
import { roleLabel } from '../roles.ts';

/** The audit log identifies users by e-mail address. */
const resource = { name: 'users', key: 'id' } as const;

/** Publisher id of the operators' audit log; those of publishers start at 1. */
const operatorLogId = 0;

export type AccountChange = {
  actor: Actor;
  user: { email: string; publisherId: number | null };
  action: AuditAction;
  nowMs: number;
};

/**
 * Writes a change of an account to the audit log of its publisher. Passwords and links are mentioned but never
 * included.
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

/** A new account as the audit log shows it. */
export const accountView = ({ role, hasPassword }: User): View => ({
  role: roleLabel(role),
  password: passwordState({ hasPassword }),
});

export const passwordState = ({ hasPassword }: { hasPassword: boolean }): string => (hasPassword ? 'set' : 'none');

/**
 * Actor for changes without a signed-in user.
 * @param label name of the actor, such as a command
 * @param publisherId publisher of the audit log; null for the operators' log
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

/** Actor label of lockouts. */
export const signInLabel = 'sign-in';

/** Actor label of password resets that users request. */
export const resetLabel = 'password reset';

/** Actor label of changes by a sign-in at the OpenID provider. */
export const singleSignOnLabel = 'single sign-on';
