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
   * Whether the change comes from a dev session. Such a change is not stored, and its webhook is sent only once per
   * offer and session.
   */
  dev: boolean;
  /** Trace of the request that made the change. */
  trace: Trace | null;
  /** Code that the user received by saving the offer, or undefined if codes are not assigned on saving. */
  coupon: Coupon | undefined;
};

/**
 * Enqueues the webhook for a change in the transaction of the change, so that either both are committed or neither is.
 */
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
 * Returns a delivery ID that is the same every time the same offer is saved in the same session. Dev sessions store no
 * row that would reveal a repeated save, so the delivery ID is used to detect it.
 */
function devDeliveryId(event: string, { sessionId, offerId }: WalletItem): string {
  return v7({
    msecs: timeOfUuid7(sessionId),
    random: hash('sha256', `${event} ${sessionId} ${offerId}`, 'buffer').subarray(0, 16),
  });
}
