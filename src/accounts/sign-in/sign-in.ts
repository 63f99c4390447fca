import { clientSubnet } from '../../platform/http/failure-limit.ts';
import type { User } from '../../shell/context.ts';
import { checkPassword, maxPasswordLength } from '../passwords.ts';
import { findByEmail, parseEmail } from '../users.ts';
import { type AttemptDeps, createAttempts, type Locked } from './attempts.ts';

type SignInResult = { ok: true; user: User } | { ok: false; reason: 'wrong' } | Locked;

type Credentials = { email: string; password: string; address: string };

/** Checks credentials. An unknown, disabled or invited account takes as long and answers as a wrong password. */
export type SignIn = (credentials: Credentials) => Promise<SignInResult>;

export function createSignIn(deps: AttemptDeps): SignIn {
  const attempts = createAttempts(deps, 'sign-in');
  const wrong: SignInResult = { ok: false, reason: 'wrong' };
  return async ({ email, password, address }) => {
    const account = parseEmail(email);
    if (account === null || password === '' || password.length > maxPasswordLength) return wrong;
    const locked = await attempts.begin(account, address);
    if (locked !== null) return locked;
    const found = await findByEmail(deps.pool, account);
    const isCorrect = await checkPassword(password, found?.passwordHash ?? null, clientSubnet(address));
    if (!isCorrect || found === null || found.user.disabled || !found.user.hasJoined) return wrong;
    await attempts.succeed(account, address);
    return { ok: true, user: found.user };
  };
}
