import type { TokenKey } from '../../config.ts';
import { writeUuid } from '../../platform/lib/uuid7.ts';
import { createSigner } from '../../platform/security/keyring.ts';

/**
 * Names a session to an advertiser, in a landing page's macro `{session_id}` (docs/interface.md#tracking): the same for
 * all clicks of a session on a campaign; it cannot be turned back, nor matched with that of another campaign.
 */
export type SessionAlias = (sessionId: string, campaignId: number) => string;

/** @returns a function that gives 22 characters of base64url; they change with the first key */
export function createSessionAlias(tokenKeys: readonly TokenKey[]): SessionAlias {
  const signer = createSigner(tokenKeys, 'session-alias');
  return (sessionId, campaignId) => {
    const id = Buffer.alloc(20);
    writeUuid(sessionId, id, 0);
    id.writeUInt32BE(campaignId, 16);
    return signer.sign(id).toString('base64url');
  };
}
