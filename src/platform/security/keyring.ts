import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { TokenKey } from '../../config.ts';

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

/** @returns HMAC-SHA256 of a message with a fixed key, truncated to 16 bytes, a character for each */
export type Mac = (message: Uint8Array) => string;

export const macLength = 16;

/** Block and digest of SHA-256 (bytes). */
const blockLength = 64;
const digestLength = 32;

/**
 * Two one-shot hashes over prepared blocks, answered as text, take 0.9 µs; as buffers they take 1.6 µs, an Hmac object
 * takes 2.6 µs. Every offer shown, every beacon and every user costs one.
 */
export function createMac(key: Uint8Array): Mac {
  const padded = Buffer.alloc(blockLength);
  if (key.length > blockLength) padded.write(hash('sha256', key, 'binary'), 'latin1');
  else padded.set(key);
  let inner = Buffer.concat([padded.map((byte) => byte ^ 0x36)], blockLength + 256);
  const outer = Buffer.concat([padded.map((byte) => byte ^ 0x5c)], blockLength + digestLength);
  // Messages of one kind mostly have one length: its view of the block is made once.
  let block = inner.subarray(0, blockLength);
  return (message) => {
    const length = blockLength + message.length;
    if (length > inner.length) inner = Buffer.concat([inner.subarray(0, blockLength)], 2 * length);
    if (block.length !== length) block = inner.subarray(0, length);
    block.set(message, blockLength);
    outer.write(hash('sha256', block, 'binary'), blockLength, 'latin1');
    return hash('sha256', outer, 'binary').slice(0, macLength);
  };
}
