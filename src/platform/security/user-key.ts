import { hash } from 'node:crypto';
import { readUuid } from '../lib/uuid7.ts';
import { StartupError } from '../startup-error.ts';
import { createMac } from './tracking-token.ts';

/** Turns an end user's identifier into the only form in which it is stored with activity. */
export type UserKeys = {
  /** @returns a UUID-shaped, keyed hash; the same identifier gives another one for each publisher */
  of: (publisherId: number, identifier: string) => string;
  /** The keys of the same identifier under the earlier peppers (rotation); mostly none. */
  earlierOf: (publisherId: number, identifier: string) => string[];
  /** All of them, the present one first. */
  allOf: (publisherId: number, identifier: string) => string[];
  /** Whether a key was made under an earlier pepper. */
  isEarlier: (userKey: string) => boolean;
  /** Whether there are earlier peppers. */
  isRotating: boolean;
};

/** The bytes of a key that tell its pepper. */
const markLength = 2;

/** What the keys under a pepper begin with, as 4 hex digits: so the users of a pepper can be counted. */
export const pepperMark = (pepper: string): string =>
  hash('sha256', `perkwire pepper mark\0${pepper}`, 'hex').slice(0, 2 * markLength);

/**
 * Keyed with the server's pepper, so that a copy of the database cannot be searched for known identifiers.
 * @param earlier peppers under which users may still be stored
 * @throws StartupError where two peppers have one mark, which is one case of 65,536
 */
export function createUserKeys(pepper: string, earlier: readonly string[] = []): UserKeys {
  const hashes = [pepper, ...earlier].map(createHash);
  const earlierMarks = earlier.map(pepperMark);
  if (new Set([pepperMark(pepper), ...earlierMarks]).size !== hashes.length)
    throw new StartupError('USER_PEPPER: two of its secrets cannot be told apart. Make another new one.');
  const [present, ...others] = hashes as [KeyOf, ...KeyOf[]];
  const earlierOf: UserKeys['earlierOf'] = (publisherId, identifier) =>
    others.map((keyOf) => keyOf(publisherId, identifier));
  return {
    of: present,
    earlierOf,
    allOf: (publisherId, identifier) => [present(publisherId, identifier), ...earlierOf(publisherId, identifier)],
    isEarlier: (userKey) => earlierMarks.includes(userKey.slice(0, 2 * markLength)),
    isRotating: earlier.length > 0,
  };
}

type KeyOf = UserKeys['of'];

function createHash(pepper: string): KeyOf {
  const mac = createMac(Buffer.from(pepper));
  const mark = Buffer.from(pepperMark(pepper), 'hex').toString('latin1');
  return (publisherId, identifier) =>
    readUuid(Buffer.from(`${mark}${mac(Buffer.from(`${publisherId}\0${identifier}`)).slice(markLength)}`, 'latin1'), 0);
}
