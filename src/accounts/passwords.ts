import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { t } from '../platform/i18n/messages.ts';
import { createLimiter } from '../platform/lib/fair-limiter.ts';
import { problem } from '../platform/problem.ts';

type Cost = { logN: number; r: number; p: number };

/** scrypt cost parameters. OWASP lists them as equivalent to 2^17, 8, 1. Each check takes 32 MiB and about 250 ms. */
const defaultCost: Cost = { logN: 15, r: 8, p: 3 };
const hashLength = 32;
export const minPasswordLength = 10;
export const maxPasswordLength = 200;

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/**
 * Limits concurrent checks, so that a flood of sign-ins uses at most two cores and delays other clients by one check.
 */
const limited = createLimiter({
  maxConcurrent: 2,
  maxWaitingPerClient: 40,
  message: problem('signInsWaiting'),
});

function hash(password: string, salt: Buffer, { logN, r, p }: Cost, client = ''): Promise<Buffer> {
  const options = { N: 2 ** logN, r, p, maxmem: 2 ** logN * r * 256 };
  return limited(() => derive(password.normalize('NFKC'), salt, hashLength, options), { client });
}

const encode = ({ logN, r, p }: Cost, salt: Buffer, hashed: Buffer): string =>
  ['scrypt', logN, r, p, salt.toString('base64url'), hashed.toString('base64url')].join('$');

/**
 * Hashes a password.
 * @returns `scrypt$log2(N)$r$p$salt$hash`
 */
export async function hashPassword(password: string, { cost = defaultCost }: { cost?: Cost } = {}): Promise<string> {
  const salt = randomBytes(16);
  return encode(cost, salt, await hash(password, salt, cost));
}

/** Dummy hash that is checked for accounts without a password, so that the response takes equally long. */
const dummyHash = encode(defaultCost, Buffer.alloc(16), Buffer.alloc(hashLength));

/**
 * Checks a password. The check takes equally long if the account does not exist or has no password (`stored` is null).
 * @param client client network; the check capacity is shared fairly between clients
 */
export async function checkPassword(password: string, stored: string | null, client: string): Promise<boolean> {
  const [, logN = '', r = '', p = '', salt = '', expected = ''] = (stored ?? dummyHash).split('$');
  const usedCost = { logN: Number(logN), r: Number(r), p: Number(p) };
  const actual = await hash(password, Buffer.from(salt, 'base64url'), usedCost, client);
  return timingSafeEqual(actual, Buffer.from(expected, 'base64url')) && stored !== null;
}

const common = /^(?:password|passwort|qwerty|letmein|welcome|perkwire|admin|operator|0?123456789|(.)\1*)[\d!.]*$/i;

/** Returns the reason why a new password is rejected, or null if it is accepted. */
export function passwordProblem(password: string, email: string): string | null {
  if (password.length < minPasswordLength) return t('account.passwordShort', { length: minPasswordLength });
  if (password.length > maxPasswordLength) return t('account.passwordLong', { length: maxPasswordLength });
  if (password.toLowerCase() === email || common.test(password)) return t('account.passwordCommon');
  return null;
}
