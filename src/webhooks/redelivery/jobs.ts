import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { newUuid7 } from '../../platform/lib/uuid7.ts';
import type { EraseOfUser } from '../../platform/user-data.ts';
import { createParameters, endpointConditions } from '../deliveries/conditions.ts';
import type { DeliveryFilter } from '../deliveries/filter.ts';
import { countRedeliverable, walkDeliveries } from '../deliveries/walk.ts';
import { attemptNow, endWait, lockOpenEndpoints, requeue } from './requeue.ts';

/** Background job that redelivers many deliveries. */
export type RedeliveryJob = {
  id: string;
  publisherId: number;
  filter: DeliveryFilter;
  status: 'running' | 'done' | 'cancelled';
  /**
   * Number of deliveries that matched the filter when the job was created. `queued` is the number of them that the job
   * has queued again or made due so far.
   */
  total: number;
  queued: number;
  createdAt: Date;
  finishedAt: Date | null;
};

type JobRow = {
  id: string;
  publisher_id: number;
  filter: DeliveryFilter;
  newest: string;
  cursor: string | null;
  status: RedeliveryJob['status'];
  total: number;
  queued: number;
  created_at: Date;
  finished_at: Date | null;
};

const columns = 'id, publisher_id, filter, newest, cursor, status, total, queued, created_at, finished_at';

const jobOf = (row: JobRow): RedeliveryJob => ({
  id: row.id,
  publisherId: row.publisher_id,
  filter: row.filter,
  status: row.status,
  total: row.total,
  queued: row.queued,
  createdAt: row.created_at,
  finishedAt: row.finished_at,
});

/** Maximum number of matching deliveries to count. */
export const maxCounted = 1_000_000;
/** Maximum number of redelivery jobs that a publisher may run at the same time. */
const maxRunning = 5;
/** Maximum number of jobs in the job list. */
const maxListed = 50;
/**
 * Number of deliveries queued per transaction. `maxDue` limits the number of due redeliveries, so that the queue stays
 * short.
 */
const sliceSize = 500;
const maxDue = 2000;

export const countMatching = (executor: Executor, filter: DeliveryFilter, nowMs: number): Promise<number> =>
  countRedeliverable(executor, filter, newUuid7(nowMs), maxCounted);

/**
 * Creates a job for all deliveries that currently match the filter. The job is run by workers. It makes pending
 * deliveries due immediately.
 * @throws AppError `too_many_replays`
 */
export async function createJob(executor: Executor, filter: DeliveryFilter, nowMs: number): Promise<RedeliveryJob> {
  const { publisherId } = filter;
  await executor.query('select from publishers where id = $1 for update', [publisherId]);
  const running = await executor.query("select from redelivery_jobs where publisher_id = $1 and status = 'running'", [
    publisherId,
  ]);
  if (running.rows.length >= maxRunning) throw new AppError('too_many_replays');
  if (filter.statuses?.includes('pending')) await endWait(executor, filter);
  const id = newUuid7(nowMs);
  const total = await countRedeliverable(executor, filter, id, maxCounted);
  const { rows } = await executor.query<JobRow>(
    `insert into redelivery_jobs (id, publisher_id, filter, newest, total, created_at, updated_at)
      values ($1::uuid, $2, $3, $1::uuid, $4, $5, $5)
    returning ${columns}`,
    [id, publisherId, filter, total, new Date(nowMs)],
  );
  return jobOf(rows[0] as JobRow);
}

export async function findJob(executor: Executor, publisherId: number, id: string): Promise<RedeliveryJob | null> {
  const { rows } = await executor.query<JobRow>(
    `select ${columns} from redelivery_jobs where id = $1::uuid and publisher_id = $2`,
    [id, publisherId],
  );
  return rows[0] === undefined ? null : jobOf(rows[0]);
}

/** Lists a publisher's most recent jobs, newest first. */
export async function listJobs(executor: Executor, publisherId: number): Promise<RedeliveryJob[]> {
  const { rows } = await executor.query<JobRow>(
    `select ${columns} from redelivery_jobs where publisher_id = $1 order by id desc limit ${maxListed}`,
    [publisherId],
  );
  return rows.map(jobOf);
}

/**
 * Cancels a job. Deliveries that are already queued are still sent.
 * @returns false if the job was not running
 */
export async function cancelJob(executor: Executor, publisherId: number, id: string, nowMs: number): Promise<boolean> {
  const { rowCount } = await executor.query(
    `update redelivery_jobs set status = 'cancelled', ${finished}
    where id = $1::uuid and publisher_id = $2 and status = 'running'`,
    [id, publisherId, new Date(nowMs)],
  );
  return rowCount === 1;
}

/** SQL that marks a job as finished and removes the user ID from its filter. $3 is the time. */
const finished = "finished_at = $3, updated_at = $3, filter = filter - 'pubUserId'";

/** Returns the IDs of the running jobs, oldest first. */
export async function runningJobs(executor: Executor): Promise<string[]> {
  const { rows } = await executor.query<{ id: string }>(
    "select id from redelivery_jobs where status = 'running' order by id",
  );
  return rows.map(({ id }) => id);
}

/**
 * Queues the next deliveries of a job and advances its cursor. Both happen in one transaction, so that nothing changes
 * if the worker dies. Skips a job that another worker is processing.
 * @returns whether more deliveries can be queued now; false while many redeliveries to the job's endpoints are due
 */
export const runSlice = (pool: pg.Pool, id: string, nowMs: number): Promise<boolean> =>
  transaction(pool, async (executor) => {
    const { rows } = await executor.query<JobRow>(
      `select ${columns} from redelivery_jobs where id = $1::uuid and status = 'running' for update skip locked`,
      [id],
    );
    const [job] = rows;
    if (job === undefined) return false;
    const { filter, publisher_id: publisherId } = job;
    const endpointIds = await lockOpenEndpoints(executor, publisherId);
    if ((await countDue(executor, filter)) >= maxDue) return false;
    const walk = { order: 'oldest', above: job.cursor, below: job.newest, limit: sliceSize } as const;
    const { keys, next } = await walkDeliveries(executor, filter, walk);
    const statuses = filter.statuses ?? [];
    const dueCount = statuses.includes('pending')
      ? await attemptNow(
          executor,
          keys.map((key) => key.id),
          endpointIds,
        )
      : 0;
    const queued = dueCount + (await requeue(executor, { publisherId, keys, endpointIds, statuses, nowMs }));
    const end = next === null ? `, status = 'done', ${finished}` : ', updated_at = $3';
    await executor.query(
      `update redelivery_jobs set queued = queued + $2, cursor = coalesce($4::uuid, cursor)${end} where id = $1::uuid`,
      [id, queued, new Date(nowMs), next],
    );
    return next !== null;
  });

/** Counts the due redeliveries at the endpoints that match the filter, up to the limit. */
async function countDue(executor: Executor, filter: DeliveryFilter): Promise<number> {
  const parameters = createParameters();
  const conditions = endpointConditions(filter, parameters).join(' and ');
  const { rows } = await executor.query<{ count: number }>(
    `select count(*)::int as count from (
      select from delivery_queue
      where lane = 'redelivery' and due_at <= now()
        and endpoint_id = any(array(select e.id from webhook_endpoints e where e.enabled and ${conditions}))
      limit ${maxDue}
    ) due`,
    parameters.values,
  );
  return rows[0]?.count ?? 0;
}

type RunnerDeps = { pool: pg.Pool; now: () => number };

/** Runs the redelivery jobs, taking one slice from each in turn. Several workers may run it concurrently. */
export async function runRedeliveries({ pool, now }: RunnerDeps, isStopped: () => boolean): Promise<void> {
  let unfinished = await runningJobs(pool);
  while (unfinished.length > 0 && !isStopped()) {
    const remaining: string[] = [];
    for (const id of unfinished) if (!isStopped() && (await runSlice(pool, id, now()))) remaining.push(id);
    unfinished = remaining;
  }
}

/** Cancels redelivery jobs for an erased user, because none of the user's deliveries is left to send. */
export const cancelRedeliveriesOfUser: EraseOfUser = async (pool, { subject, nowMs }) => {
  if (subject.namedBy !== 'pub_user_id') return;
  await pool.query(
    `update redelivery_jobs
    set status = 'cancelled', finished_at = $3, updated_at = $3, filter = filter - 'pubUserId'
    where publisher_id = $1 and filter ->> 'pubUserId' = $2 and status = 'running'`,
    [subject.publisherId, subject.identifier, new Date(nowMs)],
  );
};
