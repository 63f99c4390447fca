import { readUuid, writeUuid } from '../../platform/lib/uuid7.ts';
import { macLength, type Signer } from '../../platform/security/tracking-token.ts';

/**
 * Claims that identify the wallet that a link opens. The user is identified by a keyed hash, so the link reveals no
 * user data.
 */
export type WalletClaims = {
  publisherId: number;
  userKey: string;
  /** ID of the offer that the link acts on, or 0 if the link is for the whole wallet. */
  offerId: number;
  /** Expiry, in epoch seconds. */
  expiresS: number;
};

/**
 * Codec for signed links, each of which is valid for one purpose only. A link that opens a wallet cannot remove an
 * offer, and vice versa.
 */
export type WalletLinks = {
  /**
   * Creates a link token.
   * @returns the token, 63 base64url characters; identical for identical claims
   */
  mint: (claims: WalletClaims) => string;
  /** Returns the claims of a link token, or null if the signature is invalid or the token has expired. */
  read: (token: unknown, nowMs: number) => WalletClaims | null;
};

export const openPurpose = 'wallet-link';
export const removePurpose = 'wallet-remove';

const version = 1;
const dataLength = 31;
const pattern = /^[A-Za-z0-9_-]{63}$/;

/**
 * Creates the link codec. Layout, 47 bytes: 0 version · 1 key ID · 2–5 publisher · 6–21 user key · 22–25 offer · 26–30
 * expiry · 31–46 HMAC.
 */
export function createWalletLinks(signer: Signer): WalletLinks {
  return {
    mint: ({ publisherId, userKey, offerId, expiresS }) => {
      const bytes = Buffer.alloc(dataLength + macLength);
      bytes[0] = version;
      bytes[1] = signer.keyId;
      bytes.writeUInt32BE(publisherId, 2);
      writeUuid(userKey, bytes, 6);
      bytes.writeUInt32BE(offerId, 22);
      bytes.writeUIntBE(expiresS, 26, 5);
      signer.sign(bytes.subarray(0, dataLength)).copy(bytes, dataLength);
      return bytes.toString('base64url');
    },
    read: (token, nowMs) => {
      if (typeof token !== 'string' || !pattern.test(token)) return null;
      const bytes = Buffer.from(token, 'base64url');
      // The last base64url character has two unused bits, so several spellings decode to the same bytes. Accept only
      // the canonical one.
      if (bytes[0] !== version || bytes.toString('base64url') !== token) return null;
      if (!signer.verify(bytes[1] as number, bytes.subarray(0, dataLength), bytes.subarray(dataLength))) return null;
      const expiresS = bytes.readUIntBE(26, 5);
      if (nowMs / 1000 >= expiresS) return null;
      return {
        publisherId: bytes.readUInt32BE(2),
        userKey: readUuid(bytes, 6),
        offerId: bytes.readUInt32BE(22),
        expiresS,
      };
    },
  };
}
