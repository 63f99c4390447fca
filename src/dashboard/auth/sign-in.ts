import type { Executor } from '../../db/pool.ts';
import type { Lockout } from './lockout.ts';
import { checkPassword, maxPasswordLength } from './passwords.ts';
import { findByEmail, readEmail, type User } from './users.ts';

export type SignIn = { ok: true; user: User } | { ok: false; reason: 'wrong' } | { ok: false; reason: 'locked'; minutes: number };

type Attempt = { email: string; password: string; address: string; nowMs: number };

/** Checks a sign-in. An account that does not exist, is disabled or invited takes the same time and gets the same answer as a wrong password. */
export async function trySignIn(executor: Executor, lockout: Lockout, { email, password, address, nowMs }: Attempt): Promise<SignIn> {
  const wrong: SignIn = { ok: false, reason: 'wrong' };
  const account = readEmail(email);
  if (account === null || password === '' || password.length > maxPasswordLength) return wrong;
  const lockedUntilMs = await lockout.charge(executor, account, address, nowMs);
  if (lockedUntilMs !== null) return { ok: false, reason: 'locked', minutes: Math.max(1, Math.ceil((lockedUntilMs - nowMs) / 60_000)) };
  const found = await findByEmail(executor, account);
  if (!(await checkPassword(password, found?.passwordHash ?? null)) || found === null || found.user.disabled) return wrong;
  await lockout.forgive(executor, account, address);
  return { ok: true, user: found.user };
}
