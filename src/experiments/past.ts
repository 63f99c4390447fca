import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Executor } from '../platform/db/pool.ts';
import { collectSums } from './collect.ts';
import { recordPoints } from './report/over-time.ts';

/** Moves the start of an experiment and of its first version to the past, for generated history. */
export async function backdateExperiment(
  executor: Executor,
  { publisherId, key, startMs }: { publisherId: number; key: string; startMs: number },
): Promise<void> {
  await executor.query(
    `update experiments set created_at = $3, started_at = $3,
      versions = jsonb_set(versions, '{0,at}', to_jsonb($4::text)),
      history = (select coalesce(jsonb_agg(entry || jsonb_build_object('at', $4::text)), '[]')
        from jsonb_array_elements(history) as entry)
    where publisher_id = $1 and key = $2 and started_at is not null`,
    [publisherId, key, new Date(startMs), new Date(startMs).toISOString()],
  );
}

const pollMs = 100;

/** Counts the rows that have been stored so far, and records the results of all running experiments at a past time. */
export async function recordPastPoint(pool: pg.Pool, atMs: number): Promise<void> {
  while ((await collectSums(pool)) !== true) await sleep(pollMs);
  await recordPoints(pool, atMs);
}
