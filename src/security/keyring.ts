import { createHmac, timingSafeEqual } from 'node:crypto';
import type { TokenKey } from '../config.ts';

/** Signs for one purpose. A signature made for one purpose never verifies for another. */
export type Signer = {
  /** Id of the key that signs now (0–255). */
  keyId: number;
  /** @returns 16 bytes: HMAC-SHA256, truncated */
  sign: (bytes: Buffer) => Buffer;
  /** Checks in constant time, with whichever known key has that id. */
  verify: (keyId: number, bytes: Buffer, mac: Buffer) => boolean;
};

export const macLength = 16;

/** A signer for a purpose, from the configured keys: the first signs, all verify (rotation). */
export function createSigner(keys: readonly TokenKey[], purpose: string): Signer {
  const derived = new Map(keys.map(({ id, secret }) => [id, createHmac('sha256', secret).update(`perkwire:${purpose}`).digest()]));
  const [first] = keys;
  if (first === undefined) throw new Error('createSigner needs at least one key');
  const signingKey = derived.get(first.id) as Buffer;
  const mac = (key: Buffer, bytes: Buffer): Buffer => createHmac('sha256', key).update(bytes).digest().subarray(0, macLength);
  return {
    keyId: first.id,
    sign: (bytes) => mac(signingKey, bytes),
    verify: (keyId, bytes, given) => {
      const key = derived.get(keyId);
      return key !== undefined && given.length === macLength && timingSafeEqual(mac(key, bytes), given);
    },
  };
}
