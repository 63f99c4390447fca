import type { Executor } from '../db/pool.ts';
import { dayMs, dayOf } from '../session-id.ts';

/** Every delivery that was promised is in exactly one place: created = delivered + failed + held + pending. */
export type Balance = {
  created: number;
  delivered: number;
  failed: number;
  held: number;
  /** Waiting in the queue, or in flight. */
  pending: number;
  /** Said to be pending, and not in the queue: nobody would send them. */
  lost: number;
  /** In the queue, and not pending: they would be sent once more. */
  stray: number;
};

/**
 * Counts deliveries by what became of them, in one snapshot: true at every moment, also under load. `lost` and `stray` must be 0.
 * @param days how far to look back from `nowMs` (epoch milliseconds); default: everything that is kept
 */
export async function checkBalance(executor: Executor, options: { days: number; nowMs: number } | null = null): Promise<Balance> {
  const fromDay = options === null ? '-infinity' : dayOf(options.nowMs - options.days * dayMs);
  const { rows } = await executor.query<Balance>(
    `select count(d.id)::int as created,
      count(*) filter (where d.status = 'delivered')::int as delivered,
      count(*) filter (where d.status = 'failed')::int as failed,
      count(*) filter (where d.status = 'held')::int as held,
      count(*) filter (where d.status = 'pending' and q.delivery_id is not null)::int as pending,
      count(*) filter (where d.status = 'pending' and q.delivery_id is null)::int as lost,
      count(*) filter (where q.delivery_id is not null and d.status is distinct from 'pending')::int as stray
    from (select day, id, status from deliveries where day >= $1::date) d
    full join (select delivery_id, day from delivery_queue where day >= $1::date) q on q.delivery_id = d.id and q.day = d.day`,
    [fromDay],
  );
  return rows[0] as Balance;
}

/** Whether nothing is lost and nothing is in two places. */
export const isBalanced = ({ created, delivered, failed, held, pending, lost, stray }: Balance): boolean =>
  lost === 0 && stray === 0 && created === delivered + failed + held + pending;
