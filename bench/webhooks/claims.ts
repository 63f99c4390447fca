import type pg from 'pg';
import { createLogger } from '../../src/platform/logger.ts';
import { createScheduler } from '../../src/webhooks/dispatcher/claim/scheduler.ts';
import { createDispatcherPool } from '../../src/webhooks/dispatcher-job.ts';
import type { Stage } from './endpoints.ts';
import { seedEndpoints } from './endpoints.ts';
import { percentiles } from './percentiles.ts';

type Times = ReturnType<typeof percentiles>;
export type ClaimResult = {
  rows: number;
  blocked: number;
  claims: number;
  claimed: number;
  claim: Times;
  look: Times;
  commit: Times;
};

type Load = { rows: number; claims: number; blocked: number };

const healthy = 200;
const scanEvery = 10;
const warmUp = 20;
/** Number of concurrent calls; equals `WORKER_CONCURRENCY`. */
const slots = 512;
/** Pause until the seeded rows are flushed to disk, in milliseconds, so that these writes are not measured. */
const calmMs = 8000;

/**
 * Measures the duration of a claim with `rows` queued deliveries.
 * - Half of the deliveries belong to `blocked` endpoints with an open breaker, the others to 200 healthy endpoints.
 * - There are as many partitions as after a month.
 * - The claims are those of a worker with 512 free slots.
 * - Calls end immediately, outside of the measurement. Their dead rows stay in the tables: the queue is not vacuumed.
 * - `commit` is a one-row transaction after each claim, which shows the cost of the disk.
 */
export async function benchClaims(stage: Stage, { rows, claims, blocked }: Load): Promise<ClaimResult> {
  await stage.pool.query('select create_day_partitions(current_date - 30, current_date + 7)');
  const ids = await seedEndpoints(stage.pool, { count: blocked + healthy, url: () => 'http://127.0.0.1:9/' });
  const stuck = ids.slice(0, blocked);
  await stage.pool.query('alter table delivery_queue set (autovacuum_enabled = off)');
  await stage.pool.query('update endpoint_health set last_success_at = now()');
  await stage.pool.query(
    `update endpoint_health set breaker_state = 'open', open_until = now() + interval '1 h'
    where endpoint_id = any($1)`,
    [stuck],
  );
  await fill(stage, stuck, rows / 2);
  await fill(stage, ids.slice(blocked), rows / 2);
  await stage.pool.query('create table bench_commit (turn int)');
  await stage.pool.query('checkpoint');
  await new Promise((resolve) => setTimeout(resolve, calmMs));
  const pool = createDispatcherPool(stage.databaseUrl, createLogger('silent'), 'claims');
  await pool.query('insert into dispatcher_workers (id) values (1)');
  const scheduler = createScheduler(pool, slots, () => performance.now());
  const scanMs: number[] = [];
  const times: number[] = [];
  const commits: number[] = [];
  let claimed = 0;
  for (let turn = -warmUp; turn < claims; turn++) {
    if (turn % scanEvery === 0)
      for (let isDone = false; !isDone; ) scanMs.push(await timed(async () => (isDone = await scheduler.scan())));
    let deliveries: Awaited<ReturnType<typeof scheduler.claim>>['claimed'] = [];
    const tookMs = await timed(async () => {
      deliveries = (await scheduler.claim(1, { takeOver: true })).claimed;
    });
    if (turn >= 0) times.push(tookMs);
    claimed += deliveries.length;
    await pool.query('delete from delivery_queue where delivery_id = any($1)', [
      deliveries.map((delivery) => delivery.deliveryId),
    ]);
    for (const delivery of deliveries) scheduler.release(delivery);
    commits.push(await timed(() => pool.query('insert into bench_commit values ($1)', [turn])));
  }
  await pool.end();
  await stage.pool.query(
    `truncate delivery_queue, deliveries, delivery_attempts, dispatcher_workers;
    drop table bench_commit;
    delete from endpoint_health;
    delete from webhook_endpoints`,
  );
  return {
    rows,
    blocked,
    claims,
    claimed,
    claim: percentiles(times),
    look: percentiles(scanMs.slice(warmUp)),
    commit: percentiles(commits),
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

const slice = 50_000;

export async function fill({ pool }: Stage, endpointIds: readonly number[], count: number): Promise<void> {
  for (let from = 1; from <= count; from += slice)
    await fillSlice(pool, endpointIds, from, Math.min(count, from + slice - 1));
}

async function fillSlice(pool: pg.Pool, endpointIds: readonly number[], from: number, to: number): Promise<void> {
  await pool.query(
    `with made as (
      select uuidv7() as id, ($1::int[])[1 + n % $2] as endpoint_id,
        now() - interval '1 h' + n * interval '1 ms' as due_at
      from generate_series($3::int, $4::int) n
    ), created as (
      insert into deliveries (day, id, publisher_id, endpoint_id, event, payload, status)
      select current_date, id, 1, endpoint_id, 'usp.selection', '{"body":{}}', 'pending' from made
    )
    insert into delivery_queue (delivery_id, day, endpoint_id, due_at)
    select id, current_date, endpoint_id, due_at from made`,
    [endpointIds, endpointIds.length, from, to],
  );
}
