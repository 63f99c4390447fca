import { createHmac, hash, timingSafeEqual } from 'node:crypto';
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
  const macs = new Map(keys.map(({ id, secret }) => [id, createMac(createHmac('sha256', secret).update(`perkwire:${purpose}`).digest())]));
  const [first] = keys;
  if (first === undefined) throw new Error('createSigner needs at least one key');
  const signNow = macs.get(first.id) as Mac;
  return {
    keyId: first.id,
    sign: signNow,
    verify: (keyId, bytes, given) => {
      const mac = macs.get(keyId);
      return mac !== undefined && given.length === macLength && timingSafeEqual(mac(bytes), given);
    },
  };
}

type Mac = (bytes: Buffer) => Buffer;

const blockLength = 64;

/**
 * HMAC-SHA256 with a fixed key, truncated. Two one-shot hashes over prepared blocks take 1.7 µs where an Hmac object takes
 * 2.4 µs; every offer shown and every beacon costs one.
 */
function createMac(key: Buffer): Mac {
  const inner = Buffer.alloc(blockLength + 256, 0x36);
  const outer = Buffer.alloc(blockLength + 32, 0x5c);
  for (const [index, byte] of key.entries()) {
    inner[index] = byte ^ 0x36;
    outer[index] = byte ^ 0x5c;
  }
  // Messages of one kind have one length: its view of the block is made once.
  let block = inner.subarray(0, blockLength);
  return (bytes) => {
    const length = blockLength + bytes.length;
    if (length > inner.length) throw new Error('message too long to sign');
    if (block.length !== length) block = inner.subarray(0, length);
    inner.set(bytes, blockLength);
    outer.set(hash('sha256', block, 'buffer'), blockLength);
    return hash('sha256', outer, 'buffer').subarray(0, macLength);
  };
}
