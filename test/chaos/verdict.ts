import { setTimeout as sleep } from 'node:timers/promises';
import {
  type DeliveryReconciliation,
  isConsistent,
  reconcileDeliveries,
} from '../../src/webhooks/deliveries/reconciliation.ts';
import type { Stage } from './stage.ts';

/** Result of a run: committed wraps compared with the receiver's log. */
export type Verdict = {
  committed: number;
  received: number;
  /** Number of answered wraps that are missing in the database; must be 0. */
  forgotten: number;
  /** Number of committed wraps that no receiver accepted; must be 0. */
  lost: number;
  /** Number of webhooks for sessions that were never wrapped; must be 0. */
  phantom: number;
  /** Number of webhooks that a receiver accepted more than once. */
  duplicates: number;
  /**
   * Number of calls whose outcome was never stored because the calling process was killed. There must not be more
   * duplicates than this.
   */
  cutOff: number;
  balance: DeliveryReconciliation;
  ok: boolean;
};

/**
 * Time limit that only ends a run in which a webhook is lost, in milliseconds. Delivery takes long on a busy machine.
 */
const settleLimitMs = 600_000;

/** Waits until everything is delivered, and compares the results. */
export async function judge(
  { pool, receiver }: Pick<Stage, 'pool' | 'receiver'>,
  wrapped: readonly string[],
): Promise<Verdict> {
  const endMs = performance.now() + settleLimitMs;
  let balance = await reconcileDeliveries(pool);
  while (balance.delivered < balance.created && performance.now() < endMs) {
    await sleep(250);
    balance = await reconcileDeliveries(pool);
  }
  const unfinished = await pool.query<{ count: number }>(
    'select count(*)::int from delivery_attempts where finished_at is null',
  );
  const committed = await wrappedSessions(pool);
  const accepted = receiver.receipts.filter((receipt) => receipt.accepted);
  const arrived = new Set(accepted.map((receipt) => receipt.sessionId));
  const counts = {
    committed: committed.size,
    received: receiver.receipts.length,
    forgotten: wrapped.filter((id) => !committed.has(id)).length,
    lost: [...committed].filter((id) => !arrived.has(id)).length,
    phantom: receiver.receipts.filter((receipt) => !committed.has(receipt.sessionId)).length,
    duplicates: accepted.length - new Set(accepted.map((receipt) => receipt.id)).size,
    cutOff: unfinished.rows[0]?.count ?? 0,
  };
  const exact = counts.forgotten + counts.lost + counts.phantom === 0;
  return { ...counts, balance, ok: exact && counts.duplicates <= counts.cutOff && isConsistent(balance) };
}

/** Returns the IDs of the sessions whose wrap is in the database. */
export async function wrappedSessions(pool: Stage['pool']): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: string }>(
    'select session_id as id from usp_sessions where wrapped_at is not null',
  );
  return new Set(rows.map(({ id }) => id));
}
