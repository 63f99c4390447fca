import { type AuditAction, audit } from '../../catalog/management/audit.ts';
import type { View } from '../../catalog/management/resource.ts';
import type { Actor } from '../../catalog/management/work.ts';
import type { Executor } from '../../platform/db/pool.ts';
import type { User } from './users.ts';

/** The audit log knows people by their addresses. */
const resource = { name: 'users', key: 'id' } as const;

/** The log of what is above publishers: operators and their accounts. Ids of publishers begin at 1. */
export const operatorsLog = 0;

type Happening = { actor: Actor; user: Pick<User, 'email' | 'publisherId'>; action: AuditAction; nowMs: number };

/** Writes down what became of somebody's account, in the log of their publisher. Passwords and links are only named. */
export async function auditAccount(
  executor: Executor,
  { actor, user, action, nowMs }: Happening,
  before: View | null = null,
  after: View | null = null,
): Promise<void> {
  const named = (view: View | null): View => ({ ...view, id: user.email });
  const work = { executor, actor, publisherId: user.publisherId ?? operatorsLog, nowMs };
  await audit(work, { resource, action, before: before && named(before), after: named(after) });
}

/** What the log says of a new account. */
export const accountView = ({ role, hasPassword }: User): View => ({ role, password: passwordOf({ hasPassword }) });

export const passwordOf = ({ hasPassword }: Pick<User, 'hasPassword'>): string => (hasPassword ? 'set' : 'none');

/**
 * Who acts where nobody is signed in yet. `label`: what does, such as a command. `publisherId`: whose people read it;
 * null: operators.
 */
export const systemActor = (label: string, publisherId: number | null = null): Actor => ({
  kind: 'system',
  id: 0,
  label,
  permissions: new Set(),
  expiresAtMs: null,
  publisherId,
});

/** Who locks, in the audit log. */
export const signInLabel = 'sign-in';
