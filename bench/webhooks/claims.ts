import type pg from 'pg';
import { createLogger } from '../../src/logger.ts';
import { claim } from '../../src/webhooks/dispatcher/claim.ts';
import { createDispatcherPool } from '../../src/webhooks/sending.ts';
import type { Stage } from './endpoints.ts';
import { seedEndpoints } from './endpoints.ts';
import { percentiles } from './percentiles.ts';

export type ClaimResult = { rows: number; claims: number; claimed: number; p50Ms: number; p99Ms: number; maxMs: number };

/**
 * How long a claim takes with `rows` deliveries waiting, half of them for one endpoint whose breaker is open, the others for 200
 * endpoints in good standing. Each claim takes up to `size`; the calls end at once, outside the measurement.
 */
export async function benchClaims(
  stage: Stage,
  { rows, claims, size }: { rows: number; claims: number; size: number },
): Promise<ClaimResult> {
  const [blocked = 0, ...others] = await seedEndpoints(stage.pool, { count: 201, url: () => 'http://127.0.0.1:9/' });
  await stage.pool.query('update endpoint_health set last_success_at = now()');
  await stage.pool.query("update endpoint_health set breaker_state = 'open', open_until = now() + interval '1 h' where endpoint_id = $1", [
    blocked,
  ]);
  await fill(stage, [blocked], rows / 2);
  await fill(stage, others, rows / 2);
  const pool = createDispatcherPool(stage.databaseUrl, createLogger('silent'));
  await pool.query('insert into dispatcher_workers (id) values (1)');
  const times: number[] = [];
  let claimed = 0;
  let afterId = 0;
  const warmUp = 20;
  for (let round = -warmUp; round < claims; round++) {
    const startMs = performance.now();
    const found = await claim(pool, {
      workerId: 1,
      lane: 'live',
      takeOver: true,
      afterId,
      trusted: size,
      untrusted: size,
      perStranger: 4,
      busyIds: [],
      busyCounts: [],
      slowIds: [],
      pacedIds: [],
      pacedCounts: [],
    });
    if (round >= 0) times.push(performance.now() - startMs);
    claimed += found.length;
    afterId = Math.max(...found.map((one) => one.endpointId)) % Math.max(...others);
    await pool.query('delete from delivery_queue where delivery_id = any($1)', [found.map((one) => one.deliveryId)]);
  }
  await pool.end();
  await stage.pool.query(
    'truncate delivery_queue, deliveries, delivery_attempts, dispatcher_workers; delete from endpoint_health; delete from webhook_endpoints',
  );
  return { rows, claims, claimed, ...percentiles(times) };
}

const slice = 50_000;

export async function fill({ pool }: Stage, endpointIds: readonly number[], count: number): Promise<void> {
  for (let from = 1; from <= count; from += slice) await fillSlice(pool, endpointIds, from, Math.min(count, from + slice - 1));
}

async function fillSlice(pool: pg.Pool, endpointIds: readonly number[], from: number, to: number): Promise<void> {
  await pool.query(
    `with made as (
      select gen_random_uuid() as id, ($1::int[])[1 + n % $2] as endpoint_id, now() - interval '1 h' + n * interval '1 ms' as due_at
      from generate_series($3::int, $4::int) n
    ), promised as (
      insert into deliveries (day, id, publisher_id, endpoint_id, event, payload, status)
      select current_date, id, 1, endpoint_id, 'usp.selection', '{"body":{}}', 'pending' from made
    )
    insert into delivery_queue (delivery_id, day, endpoint_id, due_at) select id, current_date, endpoint_id, due_at from made`,
    [endpointIds, endpointIds.length, from, to],
  );
}
