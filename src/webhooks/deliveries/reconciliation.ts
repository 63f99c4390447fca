import type { Executor } from '../../platform/db/pool.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';

/** How many deliveries were promised, and where they are. */
export type Places = {
  created: number;
  delivered: number;
  failed: number;
  held: number;
  /** Waiting in the queue, or in flight. */
  pending: number;
};

/** Whether every delivery that was promised is in exactly one place. */
export const isReconciled = ({ created, delivered, failed, held, pending }: Places): boolean =>
  created === delivered + failed + held + pending;

export type DeliveryReconciliation = Places & {
  /** Said to be pending, and not in the queue: nobody would send them. */
  lost: number;
  /** In the queue, and not pending: they would be sent once more. */
  stray: number;
  /** By how many the counts kept of them differ from the deliveries there are. */
  miscounted: number;
};

/** SQL: the counts of publishers and days, with what was counted since the last fold. */
const keptCounts = `(
    select publisher_id, day, created, delivered, failed, held from delivery_counts
    union all
    select u.* from delivery_count_changes t cross join lateral unnest(t.publisher_ids, t.days, t.created,
      t.delivered, t.failed, t.held) as u
  ) as kept (publisher_id, day, created, delivered, failed, held)`;

/**
 * Counts deliveries one by one, by what became of them, in one snapshot: true at every moment, also under load. `lost`,
 * `stray` and
 * `miscounted` must be 0. Reads all deliveries of these days.
 * @param days how far to look back from `nowMs` (epoch milliseconds); default: everything that is kept
 */
export async function reconcileDeliveries(
  executor: Executor,
  options: { days: number; nowMs: number } | null = null,
): Promise<DeliveryReconciliation> {
  const fromDay = options === null ? '-infinity' : dayOf(options.nowMs - options.days * dayMs);
  const { rows } = await executor.query<DeliveryReconciliation>(
    `select count(d.id)::int as created,
      count(*) filter (where d.status = 'delivered')::int as delivered,
      count(*) filter (where d.status = 'failed')::int as failed,
      count(*) filter (where d.status = 'held')::int as held,
      count(*) filter (where d.status = 'pending' and q.delivery_id is not null)::int as pending,
      count(*) filter (where d.status = 'pending' and q.delivery_id is null)::int as lost,
      count(*) filter (where q.delivery_id is not null and d.status is distinct from 'pending')::int as stray,
      (select abs(k.created - count(d.id)) + abs(k.delivered - count(*) filter (where d.status = 'delivered'))
        + abs(k.failed - count(*) filter (where d.status = 'failed')) + abs(k.held - count(*) filter (where d.status = 'held'))
        from (
          select coalesce(sum(created), 0) as created, coalesce(sum(delivered), 0) as delivered,
            coalesce(sum(failed), 0) as failed,
            coalesce(sum(held), 0) as held
          from ${keptCounts} where day >= $1::date
        ) k)::int as miscounted
    from (select day, id, status from deliveries where day >= $1::date) d
    full join (select delivery_id, day from delivery_queue where day >= $1::date) q on q.delivery_id = d.id
      and q.day = d.day`,
    [fromDay],
  );
  return rows[0] as DeliveryReconciliation;
}

/** Whether nothing is lost and nothing is in two places. */
export const isBalanced = (balance: DeliveryReconciliation): boolean =>
  balance.lost === 0 && balance.stray === 0 && balance.miscounted === 0 && isReconciled(balance);

/** What became of the deliveries promised to a publisher on one UTC day. */
export type DayBalance = Places & { day: string };

/**
 * The balance of a publisher day by day, in one snapshot and without reading deliveries: what was promised and what has
 * become final is counted
 * in the transactions that do it, what is pending are the rows of the queue. So a day balances only where nothing is
 * lost and nothing
 * is in two places.
 * @param from first day, such as `2026-11-21`; `to` last day
 */
export async function reconcilePublisher(
  executor: Executor,
  publisherId: number,
  { from, to }: { from: string; to: string },
): Promise<DayBalance[]> {
  const { rows } = await executor.query<Record<keyof DayBalance, string>>({
    name: 'read_delivery_balance',
    text: `with counted as (
        select day, sum(created) as created, sum(delivered) as delivered, sum(failed) as failed, sum(held) as held
        from ${keptCounts} where publisher_id = $1 and day between $2::date and $3::date group by day
      ), waiting as (
        select q.day, count(*) as pending from delivery_queue q
        where q.lane = any(array['live', 'redelivery']) and q.endpoint_id = any(array(select id
          from webhook_endpoints where publisher_id = $1))
          and q.day between $2::date and $3::date
        group by q.day
      )
      select day::text, coalesce(created, 0) as created, coalesce(delivered, 0) as delivered, coalesce(failed,
        0) as failed,
        coalesce(held, 0) as held, coalesce(pending, 0) as pending
      from (select generate_series($2::date, $3::date, interval '1 day')::date as day) days
      left join counted using (day) left join waiting using (day) order by day`,
    values: [publisherId, from, to],
  });
  return rows.map(({ day, created, delivered, failed, held, pending }) => ({
    day,
    created: Number(created),
    delivered: Number(delivered),
    failed: Number(failed),
    held: Number(held),
    pending: Number(pending),
  }));
}
