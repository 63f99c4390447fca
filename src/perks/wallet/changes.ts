import { hash } from 'node:crypto';
import { v7 } from 'uuid';
import type { Executor } from '../../platform/db/pool.ts';
import { timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import { enqueue } from '../../webhooks/outbox.ts';
import type { WalletEntry } from './entries.ts';
import type { WalletItem } from './items.ts';
import { buildWalletPayload, type WalletEvent } from './payload.ts';

/** A change of a wallet; a repeat that changes nothing is none. */
export type WalletChange = {
  event: WalletEvent;
  item: WalletItem;
  atMs: number;
  /**
   * Made in a developer's session, which keeps nothing: only the webhook is sent, once for each offer of the session.
   */
  dev: boolean;
};

/**
 * Tells the publisher of a change. Called once for each change, in the transaction that makes it, so that the webhook
 * is
 * promised with the change or not at all.
 */
export type AnnounceChange = (executor: Executor, change: WalletChange) => Promise<void>;

export const createAnnouncer =
  (entriesOf: (items: readonly WalletItem[]) => WalletEntry[]): AnnounceChange =>
  async (executor, { event, item, atMs, dev }) => {
    const { publisherId, pubUserId, sessionId } = item;
    const payload = (): Buffer => buildWalletPayload({ event, item, atMs }, entriesOf([item])[0]?.view ?? null);
    const once = dev ? { id: devDeliveryId(event, item) } : {};
    await enqueue(executor, [{ publisherId, event, sessionId, pubUserId, dev, payload, nowMs: atMs, ...once }]);
  };

/**
 * No row says that a developer's session saved an offer before; the delivery itself does, as it has the same id each
 * time.
 */
function devDeliveryId(event: string, { sessionId, offerId }: WalletItem): string {
  return v7({
    msecs: timeOfUuid7(sessionId),
    random: hash('sha256', `${event} ${sessionId} ${offerId}`, 'buffer').subarray(0, 16),
  });
}
