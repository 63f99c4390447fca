import { clientSubnet } from '../../platform/http/failure-limit.ts';
import type { User } from '../../shell/context.ts';
import { checkPassword, maxPasswordLength } from '../passwords.ts';
import { findByEmail, parseEmail } from '../users.ts';
import { type AttemptDeps, createAttempts, type Locked } from './attempts.ts';

type SignInResult = { ok: true; user: User } | { ok: false; reason: 'wrong' } | Locked;

type Credentials = { email: string; password: string; address: string };

/**
 * Checks credentials. For unknown, disabled and invited accounts, the check takes the same time and returns the same
 * result as for a wrong password.
 */
export type SignIn = (credentials: Credentials) => Promise<SignInResult>;

export function createSignIn(deps: AttemptDeps): SignIn {
  const attempts = createAttempts(deps, 'sign-in');
  const wrong: SignInResult = { ok: false, reason: 'wrong' };
  return async ({ email, password, address }) => {
    const account = parseEmail(email);
    if (account === null || password === '' || password.length > maxPasswordLength) return wrong;
    const locked = await attempts.begin(account, address);
    if (locked !== null) return locked;
    const storedCredentials = await findByEmail(deps.pool, account);
    const isCorrect = await checkPassword(password, storedCredentials?.passwordHash ?? null, clientSubnet(address));
    if (
      !isCorrect ||
      storedCredentials === null ||
      storedCredentials.user.disabled ||
      !storedCredentials.user.hasJoined
    )
      return wrong;
    await attempts.succeed(account, address);
    return { ok: true, user: storedCredentials.user };
  };
}
