import { dayMs } from '../../platform/lib/time.ts';
import { readUuid, timeOfUuid7, writeUuid } from '../../platform/lib/uuid7.ts';
import { macLength, type Signer } from '../../platform/security/tracking-token.ts';

/** Where an offerwall continues: its session, and how many of its offers were passed already. */
type Cursor = { publisherId: number; sessionId: string; offset: number };

export type Cursors = {
  /** @returns 56 characters of base64url */
  mint: (cursor: Cursor) => string;
  /** null for text that was not signed here, and for a session that has expired. */
  read: (text: unknown, nowMs: number) => Cursor | null;
};

export const cursorPurpose = 'offerwall-cursor';

/** How long a cursor is valid (milliseconds): as long as the impressions of its session are accepted. */
const lifeMs = dayMs;

const version = 1;
const dataLength = 26;
const pattern = /^[A-Za-z0-9_-]{56}$/;

/** Layout, 42 bytes: 0 version · 1 key id · 2–5 publisher · 6–21 session · 22–25 offset · 26–41 HMAC. */
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
