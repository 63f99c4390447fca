import { hash } from 'node:crypto';
import { v7 } from 'uuid';
import type { Coupon } from '../../coupons/coupon.ts';
import type { Transaction } from '../../platform/db/pool.ts';
import { timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import type { Trace } from '../../platform/tracing/tracing.ts';
import { enqueue } from '../../webhooks/outbox.ts';
import type { WalletItem } from '../wallet-items.ts';
import { buildWalletPayload, type WalletEvent } from './event-types.ts';
import type { SavedOffer } from './saved-offers.ts';

/** Change to a wallet. */
type WalletChange = {
  event: WalletEvent;
  item: WalletItem;
  atMs: number;
  /**
   * Whether the change comes from a dev session, which is not stored. Its webhook is sent once per offer of the
   * session.
   */
  dev: boolean;
  /** Trace of the request that made the change. */
  trace: Trace | null;
  /** Code that the user got by saving the offer. Undefined if codes are not assigned on saving. */
  coupon: Coupon | undefined;
};

/** Enqueues the webhook of a change in the same transaction, so that either both are committed or neither is. */
export type NotifyChange = (executor: Transaction, change: WalletChange) => Promise<void>;

export const createChangeNotifier =
  (savedOffersOf: (items: readonly WalletItem[]) => SavedOffer[]): NotifyChange =>
  async (executor, { event, item, atMs, dev, trace, coupon }) => {
    const { publisherId, pubUserId, sessionId } = item;
    const payload = (): Buffer =>
      buildWalletPayload({ event, item, atMs, coupon }, savedOffersOf([item])[0]?.view ?? null);
    const once = dev ? { id: devDeliveryId(event, item) } : {};
    const traceparent = trace?.traceparent ?? null;
    const change = { publisherId, event, sessionId, pubUserId, dev, payload, nowMs: atMs, traceparent, ...once };
    await enqueue(executor, [change]);
  };

/**
 * Returns a delivery id derived from the save. Dev sessions have no row that would reveal a repeated save, so the
 * delivery id serves this purpose.
 */
function devDeliveryId(event: string, { sessionId, offerId }: WalletItem): string {
  return v7({
    msecs: timeOfUuid7(sessionId),
    random: hash('sha256', `${event} ${sessionId} ${offerId}`, 'buffer').subarray(0, 16),
  });
}
