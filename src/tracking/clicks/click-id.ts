import type { TokenKey } from '../../config.ts';
import { readUuid, writeUuid } from '../../platform/lib/uuid7.ts';
import { createSealedIds } from '../../platform/security/sealed-id.ts';

/** Click that a click ID refers to. */
export type ClickRef = { sessionId: string; offerId: number };

export type ClickIdCodec = {
  /**
   * Creates a click ID.
   * @returns 51 characters of base64url, always the same for repeated clicks
   */
  mint: (click: ClickRef) => string;
  read: (clickId: string) => ClickRef | null;
};

/** Length of the encoded session and offer IDs, in bytes. */
const idLength = 20;

/**
 * Creates a codec for click IDs. They are opaque, because advertisers receive them and must not learn anything about
 * the session (docs/reference/tracking-and-conversions.md#tracking-urls).
 */
export function createClickIdCodec(tokenKeys: readonly TokenKey[]): ClickIdCodec {
  const sealed = createSealedIds(tokenKeys, 'click-id', idLength);
  return {
    mint: ({ sessionId, offerId }) => {
      const id = Buffer.alloc(idLength);
      writeUuid(sessionId, id, 0);
      id.writeUInt32BE(offerId, 16);
      return sealed.seal(id);
    },
    read: (clickId) => {
      const id = sealed.open(clickId);
      return id && { sessionId: readUuid(id, 0), offerId: id.readUInt32BE(16) };
    },
  };
}
