import { hash } from 'node:crypto';
import { readUuid } from '../lib/uuid7.ts';
import { StartupError } from '../startup-error.ts';
import { createMac, macLength } from './tracking-token.ts';

/** Converts an end user's identifier to a user key. Activity data stores identifiers only in this form. */
export type UserKeys = {
  /** Returns the user key of an identifier: a keyed hash in UUID format that differs for each publisher. */
  of: (publisherId: number, identifier: string) => string;
  /** Writes the user key of an identifier to `bytes`, as 16 bytes at `offset`. For large numbers of users. */
  write: (publisherId: number, identifier: string, bytes: Buffer, offset: number) => void;
  /** Returns the user keys that the same identifier had under earlier peppers (rotation). The list is usually empty. */
  earlierOf: (publisherId: number, identifier: string) => string[];
  /** Returns all user keys of an identifier, the current one first. */
  allOf: (publisherId: number, identifier: string) => string[];
  /** Whether a user key was created with an earlier pepper. */
  isEarlier: (userKey: string) => boolean;
  /** Whether earlier peppers are configured. */
  isRotating: boolean;
};

/** Number of bytes at the start of a user key that identify its pepper. */
const markLength = 2;

/**
 * Returns the prefix that all user keys under a pepper have in common, as 4 hex digits. It is used to count the users
 * under each pepper.
 */
export const pepperMark = (pepper: string): string =>
  hash('sha256', `perkwire pepper mark\0${pepper}`, 'hex').slice(0, 2 * markLength);

/**
 * Creates the user key functions for a server. User keys are hashed with the server's pepper, so that known identifiers
 * cannot be looked up in a copy of the database.
 * @param earlier peppers under which users may still be stored
 * @throws StartupError if two peppers have the same prefix, which has a probability of 1 in 65,536
 */
export function createUserKeys(pepper: string, earlier: readonly string[] = []): UserKeys {
  const hashes = [pepper, ...earlier].map(createHash);
  const earlierMarks = earlier.map(pepperMark);
  if (new Set([pepperMark(pepper), ...earlierMarks]).size !== hashes.length)
    throw new StartupError('USER_PEPPER: two of its secrets cannot be told apart. Make another new one.');
  const [present, ...others] = hashes as [UserHash, ...UserHash[]];
  const earlierOf: UserKeys['earlierOf'] = (publisherId, identifier) =>
    others.map(({ of }) => of(publisherId, identifier));
  return {
    ...present,
    earlierOf,
    allOf: (publisherId, identifier) => [present.of(publisherId, identifier), ...earlierOf(publisherId, identifier)],
    isEarlier: (userKey) => earlierMarks.includes(userKey.slice(0, 2 * markLength)),
    isRotating: earlier.length > 0,
  };
}

type UserHash = { of: UserKeys['of']; write: UserKeys['write'] };

function createHash(pepper: string): UserHash {
  const mac = createMac(Buffer.from(pepper));
  const mark = Buffer.from(pepperMark(pepper), 'hex');
  const key = Buffer.alloc(macLength);
  const write: UserHash['write'] = (publisherId, identifier, bytes, offset) => {
    bytes.write(mac(Buffer.from(`${publisherId}\0${identifier}`)), offset, 'latin1');
    bytes.set(mark, offset);
  };
  return {
    of: (publisherId, identifier) => {
      write(publisherId, identifier, key, 0);
      return readUuid(key, 0);
    },
    write,
  };
}
