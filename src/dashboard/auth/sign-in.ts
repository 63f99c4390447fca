import { clientSubnet } from '../../platform/http/client-subnet.ts';
import type { PlatformDeps } from '../../platform/ports.ts';
import { auditAccount, signInLabel, systemActor } from './account-log.ts';
import { createLockout, type Lock } from './lockout.ts';
import { checkPassword, maxPasswordLength } from './passwords.ts';
import { findByEmail, readEmail, type User } from './users.ts';

export type SignIn =
  | { ok: true; user: User }
  | { ok: false; reason: 'wrong' }
  | { ok: false; reason: 'locked'; minutes: number };

type Attempt = { email: string; password: string; address: string };

/**
 * Checks a sign-in. An account that does not exist, is disabled or invited takes the same time and gets the same answer
 * as a wrong password.
 */
export type TrySignIn = (attempt: Attempt) => Promise<SignIn>;

export function createSignIn({
  pool,
  config,
  logger,
  now,
}: Pick<PlatformDeps, 'pool' | 'config' | 'logger' | 'now'>): TrySignIn {
  const lockout = createLockout(config.userPepper);

  async function auditLock(email: string, lockedFor: NonNullable<Lock['begun']>): Promise<void> {
    const found = await findByEmail(pool, email);
    if (found === null) return;
    const actor = systemActor(signInLabel, found.user.publisherId);
    const happening = { actor, user: found.user, action: 'lock', nowMs: now() } as const;
    await auditAccount(pool, happening, null, { locked_for: lockedFor });
  }

  return async ({ email, password, address }) => {
    const wrong: SignIn = { ok: false, reason: 'wrong' };
    const nowMs = now();
    const account = readEmail(email);
    if (account === null || password === '' || password.length > maxPasswordLength) return wrong;
    const lock = await lockout.charge(pool, account, address, nowMs);
    if (lock !== null) {
      // Not waited for: the time must not tell whether there is such an account.
      if (lock.begun !== null)
        auditLock(account, lock.begun).catch((err) => logger.warn({ err }, 'a locked account is not in the log'));
      return { ok: false, reason: 'locked', minutes: Math.max(1, Math.ceil((lock.untilMs - nowMs) / 60_000)) };
    }
    const found = await findByEmail(pool, account);
    if (
      !(await checkPassword(password, found?.passwordHash ?? null, clientSubnet(address))) ||
      found === null ||
      found.user.disabled
    )
      return wrong;
    await lockout.forgive(pool, account, address);
    return { ok: true, user: found.user };
  };
}
