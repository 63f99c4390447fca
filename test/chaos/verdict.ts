import { setTimeout as sleep } from 'node:timers/promises';
import {
  type DeliveryReconciliation,
  isConsistent,
  reconcileDeliveries,
} from '../../src/webhooks/deliveries/reconciliation.ts';
import type { Stage } from './stage.ts';

/** What came of a run: committed wraps against the receiver's log. */
export type Verdict = {
  committed: number;
  received: number;
  /** Answered wraps that are not in the database: must be 0. */
  forgotten: number;
  /** Committed wraps that no receiver accepted: must be 0. */
  lost: number;
  /** Webhooks of sessions that were never wrapped: must be 0. */
  phantom: number;
  /** Webhooks a receiver accepted again. */
  duplicates: number;
  /** Calls whose outcome was never written, because what made them was killed: duplicates must not be more. */
  cutOff: number;
  balance: DeliveryReconciliation;
  ok: boolean;
};

/** Only ends a run in which something is lost: a busy machine takes long to deliver. */
const settleLimitMs = 600_000;

/** Waits until everything is delivered, and compares. */
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
  const accepted = receiver.receipts.filter((one) => one.accepted);
  const arrived = new Set(accepted.map((one) => one.sessionId));
  const counts = {
    committed: committed.size,
    received: receiver.receipts.length,
    forgotten: wrapped.filter((id) => !committed.has(id)).length,
    lost: [...committed].filter((id) => !arrived.has(id)).length,
    phantom: receiver.receipts.filter((one) => !committed.has(one.sessionId)).length,
    duplicates: accepted.length - new Set(accepted.map((one) => one.id)).size,
    cutOff: unfinished.rows[0]?.count ?? 0,
  };
  const exact = counts.forgotten + counts.lost + counts.phantom === 0;
  return { ...counts, balance, ok: exact && counts.duplicates <= counts.cutOff && isConsistent(balance) };
}

/** Ids of the sessions whose wrap is in the database. */
export async function wrappedSessions(pool: Stage['pool']): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: string }>(
    'select session_id as id from usp_sessions where wrapped_at is not null',
  );
  return new Set(rows.map(({ id }) => id));
}
