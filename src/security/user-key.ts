import { createHmac } from 'node:crypto';
import { readSessionId as readUuid } from '../session-id.ts';

/** Turns an end user's identifier into the only form in which it is stored with activity. */
export type UserKeys = {
  /** @returns a UUID-shaped, keyed hash; the same identifier gives another one for each publisher */
  of: (publisherId: number, identifier: string) => string;
};

/** Keyed with the server's pepper, so that a copy of the database cannot be searched for known identifiers. */
export function createUserKeys(pepper: string): UserKeys {
  return {
    of: (publisherId, identifier) => {
      const digest = createHmac('sha256', pepper).update(`${publisherId}\0${identifier}`).digest();
      return readUuid(digest, 0);
    },
  };
}
