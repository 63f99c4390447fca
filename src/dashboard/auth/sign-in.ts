import { clientSubnet } from '../../platform/http/client-subnet.ts';
import { minuteMs } from '../../platform/lib/time.ts';
import type { PlatformDeps } from '../../platform/ports.ts';
import { auditAccount, signInLabel, systemActor } from './account-audit.ts';
import { createLockout, type Lock } from './lockout.ts';
import { checkPassword, maxPasswordLength } from './passwords.ts';
import { findByEmail, parseEmail, type User } from './users.ts';

type SignInDeps = Pick<PlatformDeps, 'pool' | 'config' | 'logger' | 'now'>;

type SignInResult =
  | { ok: true; user: User }
  | { ok: false; reason: 'wrong' }
  | { ok: false; reason: 'locked'; minutes: number };

type Credentials = { email: string; password: string; address: string };

/** Checks credentials. An unknown, disabled or invited account takes as long and answers as a wrong password. */
export type SignIn = (credentials: Credentials) => Promise<SignInResult>;

export function createSignIn(deps: SignInDeps): SignIn {
  const { pool, config, logger, now } = deps;
  const lockout = createLockout(config.userPepper);
  const wrong: SignInResult = { ok: false, reason: 'wrong' };
  return async ({ email, password, address }) => {
    const nowMs = now();
    const account = parseEmail(email);
    if (account === null || password === '' || password.length > maxPasswordLength) return wrong;
    const lock = await lockout.recordAttempt(pool, account, address, nowMs);
    if (lock !== null) {
      // Not awaited: the response time must not reveal whether the account exists.
      if (lock.startedFor !== null)
        auditLock(deps, account, lock.startedFor).catch((err) =>
          logger.warn({ err }, 'lockout missing from the audit log'),
        );
      return { ok: false, reason: 'locked', minutes: Math.max(1, Math.ceil((lock.untilMs - nowMs) / minuteMs)) };
    }
    const found = await findByEmail(pool, account);
    const isCorrect = await checkPassword(password, found?.passwordHash ?? null, clientSubnet(address));
    if (!isCorrect || found === null || found.user.disabled) return wrong;
    await lockout.recordSuccess(pool, account, address);
    return { ok: true, user: found.user };
  };
}

async function auditLock(
  { pool, now }: SignInDeps,
  email: string,
  lockedFor: NonNullable<Lock['startedFor']>,
): Promise<void> {
  const found = await findByEmail(pool, email);
  if (found === null) return;
  const actor = systemActor(signInLabel, found.user.publisherId);
  const change = { actor, user: found.user, action: 'lock', nowMs: now() } as const;
  await auditAccount(pool, change, null, { locked_for: lockedFor });
}
