import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { TokenKey } from '../../config.ts';
import { readUuid, timeOfUuid7, writeUuid } from '../lib/uuid7.ts';

/**
 * Claims of a tracking token (docs/reference/tracking-and-conversions.md#tracking-urls). One token with one signature
 * serves all URLs of an offer. `sessionId` is null for the stable token of a QR code, which has no session.
 */
export type TokenClaims = {
  publisherId: number;
  sessionId: string | null;
  offerId: number;
  campaignId: number;
  /** Position from 1; 0 for a QR code. */
  position: number;
  dev: boolean;
};

export type TokenCodec = {
  /**
   * Creates a token.
   * @returns 64 characters of base64url
   */
  mint: (claims: TokenClaims) => string;
  /** Returns the claims of a token with a valid signature, or null for anything else. Does not check its age. */
  read: (token: string) => TokenClaims | null;
};

/** Length of a token (characters). */
export const tokenLength = 64;

const version = 1;
const claimsLength = 32;
const tokenPattern = /^[A-Za-z0-9_-]{64}$/;
const devFlag = 1;

/**
 * Layout, 48 bytes: 0 version · 1 key id · 2 flags · 3 position · 4–19 session · 20–23 publisher · 24–27 offer · 28–31
 * campaign · 32–47 HMAC-SHA256 of the bytes before, truncated. 48 bytes are 64 characters without padding.
 */
export function createTokenCodec(signer: Signer): TokenCodec {
  const bytes = Buffer.alloc(claimsLength + macLength);
  const claimBytes = bytes.subarray(0, claimsLength);
  const receivedBytes = Buffer.alloc(claimsLength + macLength);
  const givenClaims = receivedBytes.subarray(0, claimsLength);
  const givenMac = receivedBytes.subarray(claimsLength);
  /** Session in `bytes`, shared by the offers of a response. */
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
      receivedBytes.write(token, 'base64url');
      if (receivedBytes[0] !== version) return null;
      if (!signer.verify(receivedBytes[1] as number, givenClaims, givenMac)) return null;
      return {
        publisherId: receivedBytes.readUInt32BE(20),
        sessionId:
          receivedBytes.readUInt32BE(4) === 0 && receivedBytes.readUInt32BE(8) === 0
            ? null
            : readUuid(receivedBytes, 4),
        offerId: receivedBytes.readUInt32BE(24),
        campaignId: receivedBytes.readUInt32BE(28),
        position: receivedBytes[3] as number,
        dev: ((receivedBytes[2] as number) & devFlag) !== 0,
      };
    },
  };
}

/**
 * Limits of a use of tokens. `maxAgeMs` is the maximum age of the session; `acceptsQrCode` also accepts tokens of QR
 * codes.
 */
export type TokenUse = { maxAgeMs: number; acceptsQrCode: boolean };

/** Maximum time that a session may lie in the future, because the clocks of two processes differ (milliseconds). */
const maxAheadMs = 5 * 60_000;

/**
 * Whether a signed token may still be used. The token of a QR code never expires and is valid for clicks only, because
 * there is no unit that could be seen or closed.
 */
export function checkToken(claims: TokenClaims, nowMs: number, { maxAgeMs, acceptsQrCode }: TokenUse): boolean {
  if (claims.sessionId === null) return acceptsQrCode;
  const ageMs = nowMs - timeOfUuid7(claims.sessionId);
  return ageMs >= -maxAheadMs && ageMs <= maxAgeMs;
}

/** Signs for one purpose. Signatures for one purpose never verify for another. */
export type Signer = {
  /** Id of the signing key (0–255). */
  keyId: number;
  /**
   * Signs bytes.
   * @returns 16 bytes: HMAC-SHA256, truncated
   */
  sign: (bytes: Buffer) => Buffer;
  /** Verifies in constant time with the key of that id. */
  verify: (keyId: number, bytes: Buffer, mac: Buffer) => boolean;
};

/** Creates a signer for a purpose from the configured keys: the first key signs, all verify (rotation). */
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
    verify: (keyId, bytes, signature) => {
      const mac = macs.get(keyId);
      if (mac === undefined || signature.length !== macLength) return false;
      expected.write(mac(bytes), 'latin1');
      return timingSafeEqual(expected, signature);
    },
  };
}

/**
 * HMAC-SHA256 of a message with a fixed key.
 * @returns 16 bytes, one character each
 */
export type Mac = (message: Uint8Array) => string;

export const macLength = 16;

/** Block size and digest size of SHA-256 (bytes). */
const blockLength = 64;
const digestLength = 32;

/**
 * Creates a MAC function. Two one-shot hashes over prepared blocks with text results take 0.9 µs; with buffers they
 * take 1.6 µs, and an Hmac object takes 2.6 µs. Every shown offer, beacon and user costs one.
 */
export function createMac(key: Uint8Array): Mac {
  const padded = Buffer.alloc(blockLength);
  if (key.length > blockLength) padded.write(hash('sha256', key, 'binary'), 'latin1');
  else padded.set(key);
  let inner = Buffer.concat([padded.map((byte) => byte ^ 0x36)], blockLength + 256);
  const outer = Buffer.concat([padded.map((byte) => byte ^ 0x5c)], blockLength + digestLength);
  // Messages of one kind mostly have the same length, so the view of the block is reused.
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
