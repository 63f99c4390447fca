import { readUuid, writeUuid } from '../platform/lib/uuid7.ts';
import { macLength, type Signer } from '../platform/security/tracking-token.ts';

/** Who does not want messages of a publisher any more; the address by its keyed hash. */
export type Unsubscriber = { publisherId: number; addressKey: string };

const version = 1;
const dataLength = 22;
const pattern = /^[A-Za-z0-9_-]{51}$/;

/** Signed tokens without an end: 0 version · 1 key id · 2–5 publisher · 6–21 address key · 22–37 HMAC. */
export function createUnsubscribeTokens(signer: Signer) {
  return {
    mint: ({ publisherId, addressKey }: Unsubscriber): string => {
      const bytes = Buffer.alloc(dataLength + macLength);
      bytes[0] = version;
      bytes[1] = signer.keyId;
      bytes.writeUInt32BE(publisherId, 2);
      writeUuid(addressKey, bytes, 6);
      signer.sign(bytes.subarray(0, dataLength)).copy(bytes, dataLength);
      return bytes.toString('base64url');
    },
    read: (token: unknown): Unsubscriber | null => {
      if (typeof token !== 'string' || !pattern.test(token)) return null;
      const bytes = Buffer.from(token, 'base64url');
      if (bytes[0] !== version || bytes.toString('base64url') !== token) return null;
      if (!signer.verify(bytes[1] as number, bytes.subarray(0, dataLength), bytes.subarray(dataLength))) return null;
      return { publisherId: bytes.readUInt32BE(2), addressKey: readUuid(bytes, 6) };
    },
  };
}
