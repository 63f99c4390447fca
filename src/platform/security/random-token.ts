import { createHash, randomBytes } from 'node:crypto';

/** Creates the secret for a session cookie or one-time link: 32 random bytes in base64url. Only its hash is stored. */
export const createToken = (): string => randomBytes(32).toString('base64url');

export const hashToken = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Whether a string has the format of a token. */
export const isToken = (text: string): boolean => /^[\w-]{43}$/.test(text);
