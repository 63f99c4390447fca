import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** A secret that somebody holds (cookie, link): 32 random bytes in base64url. Only its hash is stored. */
export const createToken = (): string => randomBytes(32).toString('base64url');

export const hashToken = (token: string): Buffer => createHash('sha256').update(token).digest();

/** What a form of a session must carry. Known only to pages of that session; the session cannot be derived from it. */
export const csrfTokenOf = (sessionToken: string): string =>
  createHmac('sha256', sessionToken).update('csrf').digest('base64url');

export function sameToken(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
