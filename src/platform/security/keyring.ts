import { createHmac, timingSafeEqual } from 'node:crypto';
import type { TokenKey } from '../../config.ts';
import { createMac, type Mac, macLength } from './mac.ts';

/** Signs for one purpose. A signature made for one purpose never verifies for another. */
export type Signer = {
  /** Id of the key that signs now (0–255). */
  keyId: number;
  /** @returns 16 bytes: HMAC-SHA256, truncated */
  sign: (bytes: Buffer) => Buffer;
  /** Checks in constant time, with whichever known key has that id. */
  verify: (keyId: number, bytes: Buffer, mac: Buffer) => boolean;
};

/** A signer for a purpose, from the configured keys: the first signs, all verify (rotation). */
export function createSigner(keys: readonly TokenKey[], purpose: string): Signer {
  const macs = new Map(
    keys.map(({ id, secret }) => [id, createMac(createHmac('sha256', secret).update(`perkwire:${purpose}`).digest())]),
  );
  const [first] = keys;
  if (first === undefined) throw new Error('createSigner needs at least one key');
  const signNow = macs.get(first.id) as Mac;
  const expected = Buffer.alloc(macLength);
  return {
    keyId: first.id,
    sign: (bytes) => Buffer.from(signNow(bytes), 'latin1'),
    verify: (keyId, bytes, given) => {
      const mac = macs.get(keyId);
      if (mac === undefined || given.length !== macLength) return false;
      expected.write(mac(bytes), 'latin1');
      return timingSafeEqual(expected, given);
    },
  };
}
