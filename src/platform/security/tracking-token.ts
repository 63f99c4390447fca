import { readUuid, timeOfUuid7, writeUuid } from '../lib/uuid7.ts';
import { macLength, type Signer } from './keyring.ts';

/**
 * What a tracking token binds (docs/interface.md#tracking). One token, and one signature, serves all URLs of an offer.
 * `sessionId` null: the stable token of a QR code, which belongs to no session.
 */
export type TokenClaims = {
  publisherId: number;
  sessionId: string | null;
  offerId: number;
  campaignId: number;
  /** From 1; 0 for a QR code. */
  position: number;
  dev: boolean;
};

export type TokenCodec = {
  /** @returns 64 characters of base64url */
  mint: (claims: TokenClaims) => string;
  /** The claims of a token we signed, or null for anything else. Says nothing about its age. */
  read: (token: string) => TokenClaims | null;
};

/** Characters of a token. */
export const tokenLength = 64;

const version = 1;
const claimsLength = 32;
const tokenPattern = /^[A-Za-z0-9_-]{64}$/;
const devFlag = 1;

/*
 * Layout, 48 bytes: 0 version · 1 key id · 2 flags · 3 position · 4–19 session · 20–23 publisher · 24–27 offer ·
 * 28–31 campaign · 32–47 HMAC-SHA256 of the bytes before, truncated. 48 bytes are 64 characters without padding.
 */
export function createTokenCodec(signer: Signer): TokenCodec {
  const bytes = Buffer.alloc(claimsLength + macLength);
  const claimBytes = bytes.subarray(0, claimsLength);
  const given = Buffer.alloc(claimsLength + macLength);
  const givenClaims = given.subarray(0, claimsLength);
  const givenMac = given.subarray(claimsLength);
  /** The session in `bytes`; the offers of one answer share it. */
  let written: string | null = null;
  return {
    mint: (claims) => {
      bytes[0] = version;
      bytes[1] = signer.keyId;
      bytes[2] = claims.dev ? devFlag : 0;
      bytes[3] = claims.position;
      if (claims.sessionId !== written) {
        if (claims.sessionId === null) bytes.fill(0, 4, 20);
        else writeUuid(claims.sessionId, bytes, 4);
        written = claims.sessionId;
      }
      bytes.writeUInt32BE(claims.publisherId, 20);
      bytes.writeUInt32BE(claims.offerId, 24);
      bytes.writeUInt32BE(claims.campaignId, 28);
      bytes.set(signer.sign(claimBytes), claimsLength);
      return bytes.toString('base64url');
    },
    read: (token) => {
      if (!tokenPattern.test(token)) return null;
      given.write(token, 'base64url');
      if (given[0] !== version) return null;
      if (!signer.verify(given[1] as number, givenClaims, givenMac)) return null;
      return {
        publisherId: given.readUInt32BE(20),
        sessionId: given.readUInt32BE(4) === 0 && given.readUInt32BE(8) === 0 ? null : readUuid(given, 4),
        offerId: given.readUInt32BE(24),
        campaignId: given.readUInt32BE(28),
        position: given[3] as number,
        dev: ((given[2] as number) & devFlag) !== 0,
      };
    },
  };
}

/** The limits of a use of tokens. `maxAgeMs`: since the session; `acceptsQrCode`: also tokens of QR codes. */
export type TokenUse = { maxAgeMs: number; acceptsQrCode: boolean };

/** How far a session may lie in the future: the clocks of two processes differ (milliseconds). */
const maxAheadMs = 5 * 60_000;

/**
 * Whether a signed token may still be used. The token of a QR code never expires, and is good for clicks only: nothing
 * was shown that could be seen or closed.
 */
export function checkToken(claims: TokenClaims, nowMs: number, { maxAgeMs, acceptsQrCode }: TokenUse): boolean {
  if (claims.sessionId === null) return acceptsQrCode;
  const ageMs = nowMs - timeOfUuid7(claims.sessionId);
  return ageMs >= -maxAheadMs && ageMs <= maxAgeMs;
}
