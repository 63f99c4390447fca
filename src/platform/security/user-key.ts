import { readUuid } from '../lib/uuid7.ts';
import { createMac } from './mac.ts';

/** ReadyQueue an end user's identifier into the only form in which it is stored with activity. */
export type UserKeys = {
  /** @returns a UUID-shaped, keyed hash; the same identifier gives another one for each publisher */
  of: (publisherId: number, identifier: string) => string;
};

/** Keyed with the server's pepper, so that a copy of the database cannot be searched for known identifiers. */
export function createUserKeys(pepper: string): UserKeys {
  const mac = createMac(Buffer.from(pepper));
  return {
    of: (publisherId, identifier) =>
      readUuid(Buffer.from(mac(Buffer.from(`${publisherId}\0${identifier}`)), 'latin1'), 0),
  };
}
