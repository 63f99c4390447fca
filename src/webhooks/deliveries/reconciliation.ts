import type { Executor } from '../../platform/db/pool.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';

/** How many deliveries were created, and how many are in each state. */
export type StateCounts = {
  created: number;
  delivered: number;
  failed: number;
  held: number;
  /** Queued, or in flight. */
  pending: number;
};

/** Whether every delivery that was created is in exactly one state. */
export const isReconciled = ({ created, delivered, failed, held, pending }: StateCounts): boolean =>
  created === delivered + failed + held + pending;

export type DeliveryReconciliation = StateCounts & {
  /** Pending, but not in the queue: they would never be sent. */
  lost: number;
  /** In the queue, but not pending: they would be sent once more. */
  stray: number;
  /** By how many the daily counts differ from the deliveries. */
  miscounted: number;
};

/** SQL: the counts of publishers and days, with the changes that are not merged yet. */
const dailyCounts = `(
    select publisher_id, day, created, delivered, failed, held from delivery_counts
    union all
    select u.*
    from delivery_count_changes t
    cross join lateral unnest(t.publisher_ids, t.days, t.created, t.delivered, t.failed, t.held) as u
  ) as counts (publisher_id, day, created, delivered, failed, held)`;

/**
 * SQL: how many deliveries there are in each state but delivered, by the daily counts. It reads no delivery: with a
 * million waiting and a million failed it takes 0.1 ms, where counting the rows takes seconds.
 */
export const openStatesSql = `
  select coalesce(sum(failed), 0)::bigint as failed, coalesce(sum(held), 0)::bigint as held,
    coalesce(sum(created - delivered - failed - held), 0)::bigint as pending
  from ${dailyCounts}`;

/**
 * Counts the deliveries by state in one snapshot: correct at every moment, also under load. `lost`, `stray` and
 * `miscounted` must be 0. Reads all deliveries of these days.
 * @param days how far to look back from `nowMs` (epoch milliseconds); default: all days
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
      (
        select abs(c.created - count(d.id))
          + abs(c.delivered - count(*) filter (where d.status = 'delivered'))
          + abs(c.failed - count(*) filter (where d.status = 'failed'))
          + abs(c.held - count(*) filter (where d.status = 'held'))
        from (
          select coalesce(sum(created), 0) as created, coalesce(sum(delivered), 0) as delivered,
            coalesce(sum(failed), 0) as failed, coalesce(sum(held), 0) as held
          from ${dailyCounts} where day >= $1::date
        ) c
      )::int as miscounted
    from (select day, id, status from deliveries where day >= $1::date) d
    full join (select delivery_id, day from delivery_queue where day >= $1::date) q
      on q.delivery_id = d.id and q.day = d.day`,
    [fromDay],
  );
  return rows[0] as DeliveryReconciliation;
}

/** Whether no delivery is lost or queued twice, and the counts are right. */
export const isConsistent = (found: DeliveryReconciliation): boolean =>
  found.lost === 0 && found.stray === 0 && found.miscounted === 0 && isReconciled(found);

/** The deliveries created for a publisher on one UTC day. */
export type DayReconciliation = StateCounts & { day: string };

/**
 * Reconciles a publisher's deliveries day by day, in one snapshot and without reading deliveries: new and final ones
 * are counted in the transactions that write them, pending ones are the rows of the queue. So a day is reconciled only
 * where no delivery is lost or in two states.
 * @param from first day, such as `2026-11-21`; `to` last day
 */
export async function reconcilePublisher(
  executor: Executor,
  publisherId: number,
  { from, to }: { from: string; to: string },
): Promise<DayReconciliation[]> {
  const { rows } = await executor.query<Record<keyof DayReconciliation, string>>({
    name: 'reconcile_deliveries',
    text: `with counted as (
        select day, sum(created) as created, sum(delivered) as delivered, sum(failed) as failed, sum(held) as held
        from ${dailyCounts} where publisher_id = $1 and day between $2::date and $3::date group by day
      ), queued as (
        select q.day, count(*) as pending from delivery_queue q
        where q.lane = any(array['live', 'redelivery'])
          and q.endpoint_id = any(array(select id from webhook_endpoints where publisher_id = $1))
          and q.day between $2::date and $3::date
        group by q.day
      )
      select day::text, coalesce(created, 0) as created, coalesce(delivered, 0) as delivered,
        coalesce(failed, 0) as failed, coalesce(held, 0) as held, coalesce(pending, 0) as pending
      from (select generate_series($2::date, $3::date, interval '1 day')::date as day) days
      left join counted using (day)
      left join queued using (day) order by day`,
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
