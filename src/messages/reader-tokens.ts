import { readUuid, writeUuid } from '../platform/lib/uuid7.ts';
import { macLength, type Signer } from '../platform/security/tracking-token.ts';
import type { Reader } from './addresses.ts';

const version = 1;
const dataLength = 22;
const pattern = /^[A-Za-z0-9_-]{51}$/;

/** Tokens of links in mails: 0 version · 1 key id · 2–5 publisher · 6–21 address key · 22–37 HMAC. They do not end. */
export function createReaderTokens(signer: Signer) {
  return {
    mint: ({ publisherId, addressKey }: Reader): string => {
      const bytes = Buffer.alloc(dataLength + macLength);
      bytes[0] = version;
      bytes[1] = signer.keyId;
      bytes.writeUInt32BE(publisherId, 2);
      writeUuid(addressKey, bytes, 6);
      signer.sign(bytes.subarray(0, dataLength)).copy(bytes, dataLength);
      return bytes.toString('base64url');
    },
    read: (token: unknown): Reader | null => {
      if (typeof token !== 'string' || !pattern.test(token)) return null;
      const bytes = Buffer.from(token, 'base64url');
      if (bytes[0] !== version || bytes.toString('base64url') !== token) return null;
      if (!signer.verify(bytes[1] as number, bytes.subarray(0, dataLength), bytes.subarray(dataLength))) return null;
      return { publisherId: bytes.readUInt32BE(2), addressKey: readUuid(bytes, 6) };
    },
  };
}
