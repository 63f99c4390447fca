import { readUuid, writeUuid } from '../../platform/lib/uuid7.ts';
import type { Signer } from '../../platform/security/keyring.ts';
import { macLength } from '../../platform/security/mac.ts';

/** The click a click id names. */
export type ClickRef = { sessionId: string; offerId: number };

export type ClickIdCodec = {
  /** @returns 51 characters of base64url; the same for every repeat of a click */
  mint: (click: ClickRef) => string;
  read: (clickId: string) => ClickRef | null;
};

/** Purpose of the signer click ids need. */
export const clickIdPurpose = 'click-id';

const dataLength = 22;
/** 38 bytes leave two bits of the last character unused; they must be zero, so that a click has one spelling. */
const pattern = /^[A-Za-z0-9_-]{50}[AEIMQUYcgkosw048]$/;

/** Layout, 38 bytes: 0 version · 1 key id · 2–17 session · 18–21 offer · 22–37 HMAC. It cannot be forged. */
export function createClickIdCodec(signer: Signer): ClickIdCodec {
  return {
    mint: ({ sessionId, offerId }) => {
      const bytes = Buffer.alloc(dataLength + macLength);
      bytes[0] = 1;
      bytes[1] = signer.keyId;
      writeUuid(sessionId, bytes, 2);
      bytes.writeUInt32BE(offerId, 18);
      signer.sign(bytes.subarray(0, dataLength)).copy(bytes, dataLength);
      return bytes.toString('base64url');
    },
    read: (clickId) => {
      if (!pattern.test(clickId)) return null;
      const bytes = Buffer.from(clickId, 'base64url');
      if (
        bytes[0] !== 1 ||
        !signer.verify(bytes[1] as number, bytes.subarray(0, dataLength), bytes.subarray(dataLength))
      )
        return null;
      return { sessionId: readUuid(bytes, 2), offerId: bytes.readUInt32BE(18) };
    },
  };
}
