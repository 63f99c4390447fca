import { isUuid7, readUuid, writeUuid } from '../platform/lib/uuid7.ts';
import type { Signer } from '../platform/security/keyring.ts';
import { macLength } from '../platform/security/mac.ts';

/**
 * Signed links to the stored bytes of a delivery, for GET webhooks whose URL would be too long
 * (docs/interface.md#webhooks).
 */
export type PayloadLinks = {
  /** An absolute URL, good for 72 hours from `nowMs` (epoch milliseconds). */
  url: (deliveryId: string, nowMs: number) => string;
  /** The delivery a link's token names; null when the token is not ours or has expired. */
  read: (token: string, nowMs: number) => { deliveryId: string } | null;
};

/** Purpose of the signer these links need. */
export const payloadLinkPurpose = 'payload-link';

export const payloadPath = '/webhooks/v1/payload';

const validForS = 72 * 3600;
const version = 1;
const dataLength = 23;
const pattern = /^[A-Za-z0-9_-]{52}$/;

/** Layout, 39 bytes: 0 version · 1 key id · 2–17 delivery · 18–22 end of validity, epoch seconds · 23–38 HMAC. */
export function createPayloadLinks(signer: Signer, publicUrl: string): PayloadLinks {
  return {
    url: (deliveryId, nowMs) => {
      if (!isUuid7(deliveryId)) throw new Error('a delivery id is a UUIDv7');
      const bytes = Buffer.alloc(dataLength + macLength);
      bytes[0] = version;
      bytes[1] = signer.keyId;
      writeUuid(deliveryId, bytes, 2);
      bytes.writeUIntBE(Math.floor(nowMs / 1000) + validForS, 18, 5);
      signer.sign(bytes.subarray(0, dataLength)).copy(bytes, dataLength);
      return `${publicUrl}${payloadPath}?t=${bytes.toString('base64url')}`;
    },
    read: (token, nowMs) => {
      if (!pattern.test(token)) return null;
      const bytes = Buffer.from(token, 'base64url');
      if (
        bytes[0] !== version ||
        !signer.verify(bytes[1] as number, bytes.subarray(0, dataLength), bytes.subarray(dataLength))
      )
        return null;
      return nowMs / 1000 >= bytes.readUIntBE(18, 5) ? null : { deliveryId: readUuid(bytes, 2) };
    },
  };
}
