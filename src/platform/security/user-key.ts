import { hash } from 'node:crypto';
import { readUuid } from '../lib/uuid7.ts';
import { StartupError } from '../startup-error.ts';
import { createMac } from './tracking-token.ts';

/** Turns an end user's identifier into the only form in which it is stored with activity. */
export type UserKeys = {
  /** Returns the key of an identifier: a keyed hash in the form of a UUID, different for each publisher. */
  of: (publisherId: number, identifier: string) => string;
  /** Keys of the same identifier under the earlier peppers (rotation); usually empty. */
  earlierOf: (publisherId: number, identifier: string) => string[];
  /** All keys of an identifier, the current one first. */
  allOf: (publisherId: number, identifier: string) => string[];
  /** Whether a key was created with an earlier pepper. */
  isEarlier: (userKey: string) => boolean;
  /** Whether there are earlier peppers. */
  isRotating: boolean;
};

/** Number of bytes of a key that identify its pepper. */
const markLength = 2;

/** Prefix of the keys under a pepper, as 4 hex digits, so that the users of a pepper can be counted. */
export const pepperMark = (pepper: string): string =>
  hash('sha256', `perkwire pepper mark\0${pepper}`, 'hex').slice(0, 2 * markLength);

/**
 * Creates user keys. They are keyed with the server's pepper, so that a copy of the database cannot be searched for
 * known identifiers.
 * @param earlier peppers under which users may still be stored
 * @throws StartupError if two peppers have the same prefix, which has a probability of 1 in 65,536
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
