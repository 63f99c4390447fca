import { migrate } from '../platform/db/migrate.ts';
import { createPool, type Executor, transaction } from '../platform/db/pool.ts';
import type { User } from '../shell/context.ts';
import { changeMember } from './memberships.ts';
import { endSessionsOf } from './sessions.ts';
import { accountView, auditAccount, passwordState, systemActor } from './sign-in/account-audit.ts';
import { createFirstOperatorLink, linkPath } from './sign-in/one-time-links.ts';
import { removeTwoFactor } from './two-factor.ts';
import { createUser, findByEmail, hasOperator, setPassword } from './users.ts';

type Saved = { email: string; passwordHash: string; dropTwoFactor: boolean };

/**
 * Creates an operator, or sets a new password for an existing one.
 * @returns whether the operator was created
 */
export async function saveOperator(url: string, saved: Saved, signal: AbortSignal): Promise<boolean> {
  const { email, passwordHash } = saved;
  await migrate(url, { signal });
  const pool = createPool({ url, size: 1, applicationName: 'perkwire-operator-create', onError: () => {}, signal });
  try {
    return await transaction(pool, async (executor) => {
      const nowMs = Date.now();
      const created = await createUser(executor, { email, role: 'operator', publisherId: null, passwordHash, nowMs });
      if (created === null) {
        await resetOperator(executor, saved, nowMs);
        return false;
      }
      const change = { actor: systemActor('operator:create'), user: created, action: 'create', nowMs } as const;
      await auditAccount(executor, change, null, accountView(created));
      return true;
    });
  } finally {
    await pool.end();
  }
}

/**
 * Sets a new password, enables the account and ends its sessions.
 * @throws Error if the e-mail address belongs to a publisher's user
 */
async function resetOperator(
  executor: Executor,
  { email, passwordHash, dropTwoFactor }: Saved,
  nowMs: number,
): Promise<void> {
  const user = await findOperator(executor, email);
  await setPassword(executor, user.id, passwordHash);
  await changeMember(executor, user, { role: 'operator', disabled: false });
  await endSessionsOf(executor, user.id);
  const change = { actor: systemActor('operator:create'), user, action: 'update', nowMs } as const;
  const isDropped = dropTwoFactor && user.hasTwoFactor;
  if (isDropped) await removeTwoFactor(executor, user.id);
  const before = { disabled: user.disabled, password: passwordState(user), two_factor: isDropped ? 'on' : '' };
  const after = { disabled: false, password: 'changed', two_factor: isDropped ? 'removed' : '' };
  await auditAccount(executor, change, before, after);
}

async function findOperator(executor: Executor, email: string): Promise<User> {
  const credentials = await findByEmail(executor, email);
  if (credentials?.user.role !== 'operator')
    throw new Error(`${email} belongs to a user of a publisher. Use another address.`);
  return credentials.user;
}

/** Returns the URL of a one-time link for creating the first operator. Returns null if an operator already exists. */
export async function firstOperatorLink(executor: Executor, publicUrl: string, nowMs: number): Promise<string | null> {
  if (await hasOperator(executor)) return null;
  return `${publicUrl}${linkPath}${await createFirstOperatorLink(executor, nowMs)}`;
}
