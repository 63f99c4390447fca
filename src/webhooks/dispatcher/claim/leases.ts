import type { Executor } from '../../../platform/db/pool.ts';
import type { Claimed } from './claim.ts';
import { leaseGraceMs } from './lease.ts';

/** The leases a worker holds: of calls in flight, and of outcomes that are not written yet. */
export type Leases = {
  add: (claimed: Claimed) => void;
  remove: (claimed: Claimed) => void;
  all: () => Claimed[];
  /** Leases that end soon; their end is put off, and the caller renews them in the database. */
  takeEnding: () => Claimed[];
};

/** @param now a monotonic clock, milliseconds */
export function createLeases(now: () => number): Leases {
  const endsMs = new Map<Claimed, number>();
  return {
    add: (claimed) => void endsMs.set(claimed, now() + claimed.deadlineMs + leaseGraceMs),
    remove: (claimed) => void endsMs.delete(claimed),
    all: () => [...endsMs.keys()],
    takeEnding: () => {
      const ending = [...endsMs].filter(([, endMs]) => endMs - now() < leaseGraceMs / 2).map(([claimed]) => claimed);
      for (const claimed of ending) endsMs.set(claimed, now() + leaseGraceMs);
      return ending;
    },
  };
}

/**
 * Frees leases this worker does not know of: those of a claim whose answer was lost with a connection. Without it they
 * would block their deliveries until they end.
 */
export async function freeUnknownLeases(
  executor: Executor,
  workerId: number,
  known: readonly Claimed[],
): Promise<void> {
  await executor.query(
    `update delivery_queue q set lease_until = null, worker_id = null
    where worker_id = $1 and not exists (
      select from unnest($2::uuid[], $3::int[]) as k (delivery_id, generation)
      where k.delivery_id = q.delivery_id and k.generation = q.generation
    )`,
    [workerId, known.map(({ deliveryId }) => deliveryId), known.map(({ generation }) => generation)],
  );
}

/** Puts off the end of leases whose outcome is not written yet. Leaves alone what other workers have taken over. */
export async function renewLeases(executor: Executor, workerId: number, leases: readonly Claimed[]): Promise<void> {
  await executor.query(
    `update delivery_queue q set lease_until = now() + ${leaseGraceMs} * interval '1 ms'
    from unnest($2::uuid[], $3::int[]) as l (delivery_id, generation)
    where q.delivery_id = l.delivery_id and q.generation = l.generation and q.worker_id = $1`,
    [workerId, leases.map(({ deliveryId }) => deliveryId), leases.map(({ generation }) => generation)],
  );
}
