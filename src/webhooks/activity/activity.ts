import type { Executor } from '../../platform/db/pool.ts';
import { dayMs, minuteMs } from '../../platform/lib/time.ts';
import type { Settlement } from '../dispatcher/settle/settle.ts';

/*
 * Attempt results per endpoint and quarter of an hour, for the charts of the endpoint pages. They are counted in
 * memory and written every few seconds: a process that dies loses its last seconds, and no delivery waits for a write.
 */

export const bucketMs = 15 * minuteMs;
/** Time for which the activity totals are stored, in milliseconds. */
const keptMs = 7 * dayMs;
/** Maximum number of pending deliveries that are counted per endpoint. */
const maxBacklog = 10_000;

/** Activity totals of one endpoint and time bucket. Latencies include all attempts that made a call. */
export type Activity = { delivered: number; failed: number; totalMs: number; slowestMs: number };

type SettledAttempt = {
  claimed: { endpointId: number };
  outcome: Settlement['outcome'];
  timing: Settlement['timing'];
};

export type EndpointActivity = {
  settled: (settlements: readonly SettledAttempt[]) => void;
  /** Stores the collected totals. Totals that cannot be stored are lost. */
  write: (executor: Executor) => Promise<void>;
};

const bucketOf = (time: string): string => `date_bin('${bucketMs / minuteMs} minutes', ${time}, timestamptz 'epoch')`;

/* Rows are in key order, so that processes that write the same rows lock them in a consistent order. */
const addSql = `
insert into endpoint_activity as known (endpoint_id, bucket, delivered, failed, total_ms, slowest_ms)
select endpoint_id, ${bucketOf('$6::timestamptz')}, delivered, failed, total_ms, slowest_ms
from unnest($1::integer[], $2::integer[], $3::integer[], $4::bigint[], $5::integer[])
  as given (endpoint_id, delivered, failed, total_ms, slowest_ms)
order by endpoint_id
on conflict (endpoint_id, bucket) do update set
  delivered = known.delivered + excluded.delivered, failed = known.failed + excluded.failed,
  total_ms = known.total_ms + excluded.total_ms, slowest_ms = greatest(known.slowest_ms, excluded.slowest_ms)`;

export function createEndpointActivity(now: () => number): EndpointActivity {
  let counted = new Map<number, Activity>();
  return {
    settled: (settlements) => {
      for (const { claimed, outcome, timing } of settlements) {
        const activity = counted.get(claimed.endpointId) ?? { delivered: 0, failed: 0, totalMs: 0, slowestMs: 0 };
        const ms = Math.round(timing?.totalMs ?? 0);
        activity[outcome === 'delivered' ? 'delivered' : 'failed'] += 1;
        activity.totalMs += ms;
        activity.slowestMs = Math.max(activity.slowestMs, ms);
        counted.set(claimed.endpointId, activity);
      }
    },
    write: async (executor) => {
      if (counted.size === 0) return;
      const rows = [...counted];
      counted = new Map();
      const column = (read: (activity: Activity) => number): number[] => rows.map(([, activity]) => read(activity));
      await executor.query(addSql, [
        rows.map(([endpointId]) => endpointId),
        column(({ delivered }) => delivered),
        column(({ failed }) => failed),
        column(({ totalMs }) => totalMs),
        column(({ slowestMs }) => slowestMs),
        new Date(now()),
      ]);
    },
  };
}

/**
 * Records the number of pending deliveries for each endpoint. Each time bucket stores the highest number recorded in
 * it.
 */
export async function noteBacklogs(executor: Executor, nowMs: number): Promise<void> {
  await executor.query(
    `insert into endpoint_activity as known (endpoint_id, bucket, backlog)
    select e.id, ${bucketOf('$1::timestamptz')}, waiting.count
    from webhook_endpoints e cross join lateral (
      select count(*)::int as count from (
        select from delivery_queue q
        where q.lane = any(array['live', 'redelivery']) and q.endpoint_id = e.id limit ${maxBacklog}
      ) queued
    ) waiting
    where e.deleted_at is null and waiting.count > 0 order by e.id
    on conflict (endpoint_id, bucket) do update set backlog = greatest(known.backlog, excluded.backlog)`,
    [new Date(nowMs)],
  );
}

export async function deleteOldActivity(executor: Executor, nowMs: number): Promise<void> {
  await executor.query('delete from endpoint_activity where bucket < $1', [new Date(nowMs - keptMs)]);
}

/** Returns an endpoint's activity since a given time, oldest first. Omits empty time buckets. */
export async function readActivity(
  executor: Executor,
  endpointId: number,
  sinceMs: number,
): Promise<(Activity & { atMs: number; backlog: number })[]> {
  const { rows } = await executor.query<Activity & { at: Date; backlog: number }>(
    `select bucket as at, delivered, failed, total_ms::float8 as "totalMs", slowest_ms as "slowestMs", backlog
    from endpoint_activity where endpoint_id = $1 and bucket >= $2 order by bucket`,
    [endpointId, new Date(sinceMs)],
  );
  return rows.map(({ at, ...row }) => ({ ...row, atMs: at.getTime() }));
}
