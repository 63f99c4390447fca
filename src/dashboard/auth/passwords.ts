import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { createLimiter } from '../../platform/lib/fair-limiter.ts';

type Cost = { logN: number; r: number; p: number };

/** 32 MiB and about a quarter of a second for a check; what OWASP names beside 2^17, 8, 1. */
const cost: Cost = { logN: 15, r: 8, p: 3 };
const hashLength = 32;
export const minPasswordLength = 10;
export const maxPasswordLength = 200;

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** A flood of sign-ins costs two checks at any moment, and others one check of waiting. */
const inTurn = createLimiter({ atOnce: 2, maxWaiting: 40, message: 'Too many people are signing in.' });

const hash = (password: string, salt: Buffer, { logN, r, p }: Cost, client = ''): Promise<Buffer> =>
  inTurn(
    () => derive(password.normalize('NFKC'), salt, hashLength, { N: 2 ** logN, r, p, maxmem: 2 ** logN * r * 256 }),
    {
      customer: client,
    },
  );

/** @returns `scrypt$log2(N)$r$p$salt$hash` */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const { logN, r, p } = cost;
  return [
    'scrypt',
    logN,
    r,
    p,
    salt.toString('base64url'),
    (await hash(password, salt, cost)).toString('base64url'),
  ].join('$');
}

/**
 * Takes as long for an account that does not exist or has no password yet (`stored` null) as for one that does.
 * @param client who tries: clients take turns
 */
export async function checkPassword(password: string, stored: string | null, client: string): Promise<boolean> {
  const [, logN = '', r = '', p = '', salt = '', expected = ''] = (stored ?? absent).split('$');
  const given = await hash(
    password,
    Buffer.from(salt, 'base64url'),
    { logN: Number(logN), r: Number(r), p: Number(p) },
    client,
  );
  return timingSafeEqual(given, Buffer.from(expected, 'base64url')) && stored !== null;
}

const absent = `scrypt$${cost.logN}$${cost.r}$${cost.p}$${Buffer.alloc(16).toString('base64url')}$${Buffer.alloc(hashLength).toString('base64url')}`;

const common = /^(?:password|passwort|qwerty|letmein|welcome|perkwire|admin|operator|0?123456789|(.)\1*)[\d!.]*$/i;

/** What is wrong with a new password; null: nothing. */
export function passwordProblem(password: string, email: string): string | null {
  if (password.length < minPasswordLength) return `Use at least ${minPasswordLength} characters.`;
  if (password.length > maxPasswordLength) return `Use at most ${maxPasswordLength} characters.`;
  if (password.toLowerCase() === email || common.test(password))
    return 'This one is guessed first. Use a few unrelated words.';
  return null;
}
