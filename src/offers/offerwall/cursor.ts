import { dayMs } from '../../platform/lib/time.ts';
import { readUuid, timeOfUuid7, writeUuid } from '../../platform/lib/uuid7.ts';
import { macLength, type Signer } from '../../platform/security/tracking-token.ts';

/** Position in an offerwall: its session and the offset of the next offer. */
type Cursor = { publisherId: number; sessionId: string; offset: number };

export type Cursors = {
  /**
   * Creates a cursor.
   * @returns the cursor, 56 base64url characters
   */
  mint: (cursor: Cursor) => string;
  /** Reads a cursor. Returns null if this service did not sign the cursor, or if its session has expired. */
  read: (text: unknown, nowMs: number) => Cursor | null;
};

export const cursorPurpose = 'offerwall-cursor';

/** Lifetime of a cursor, in milliseconds. Impressions of its session are accepted for the same time. */
const lifeMs = dayMs;

const version = 1;
const dataLength = 26;
const pattern = /^[A-Za-z0-9_-]{56}$/;

/**
 * Creates the cursor codec. Layout, 42 bytes: 0 version · 1 key ID · 2–5 publisher · 6–21 session · 22–25 offset ·
 * 26–41 HMAC.
 */
export function createCursors(signer: Signer): Cursors {
  return {
    mint: ({ publisherId, sessionId, offset }) => {
      const bytes = Buffer.alloc(dataLength + macLength);
      bytes[0] = version;
      bytes[1] = signer.keyId;
      bytes.writeUInt32BE(publisherId, 2);
      writeUuid(sessionId, bytes, 6);
      bytes.writeUInt32BE(offset, 22);
      signer.sign(bytes.subarray(0, dataLength)).copy(bytes, dataLength);
      return bytes.toString('base64url');
    },
    read: (text, nowMs) => {
      if (typeof text !== 'string' || !pattern.test(text)) return null;
      const bytes = Buffer.from(text, 'base64url');
      if (bytes[0] !== version) return null;
      if (!signer.verify(bytes[1] as number, bytes.subarray(0, dataLength), bytes.subarray(dataLength))) return null;
      const sessionId = readUuid(bytes, 6);
      if (nowMs - timeOfUuid7(sessionId) > lifeMs) return null;
      return { publisherId: bytes.readUInt32BE(2), sessionId, offset: bytes.readUInt32BE(22) };
    },
  };
}
