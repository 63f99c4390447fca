import type pg from 'pg';
import type { Batcher } from '../platform/db/batcher.ts';
import { createBatcher } from '../platform/db/batcher.ts';
import { bigints, integers, texts, timestamps, uuids } from '../platform/db/binary-array.ts';
import type { DatabaseHealth } from '../platform/db/health.ts';
import type { Executor } from '../platform/db/pool.ts';
import { dayMs, hourMs } from '../platform/lib/time.ts';
import { type Problem, problem } from '../platform/problem.ts';

/** An outcome for a user, as reported by the publisher. */
export type Outcome = {
  publisherId: number;
  id: string;
  userKey: string;
  name: string;
  valueMicros: number;
  currency: string | null;
  atMs: number;
};

/**
 * Maximum age of an outcome, in milliseconds. `aheadMs` is the maximum time by which an outcome may be in the future
 * because of clock skew, in milliseconds.
 */
const oldestMs = 30 * dayMs;
const aheadMs = hourMs;

/** Maximum absolute value of an outcome. Larger values are treated as mistakes, such as cents instead of euros. */
export const maxOutcomeValue = 1_000_000;

/** Returns the reason why an outcome's time is invalid, or null if it is valid. */
export function timeProblemOf(atMs: number, nowMs: number): Problem | null {
  if (Number.isNaN(atMs)) return problem('timeSuchAs');
  if (atMs < nowMs - oldestMs) return problem('outcomeTime');
  return atMs > nowMs + aheadMs ? problem('outcomeInFuture') : null;
}

/**
 * Inserts outcomes.
 * @returns for each outcome, whether it is new (its ID was not stored before)
 */
export async function insertOutcomes(executor: Executor, batch: readonly Outcome[]): Promise<boolean[]> {
  // If an ID occurs more than once in a batch, only the first outcome is stored.
  const firstOutcomes = [
    ...new Map(batch.toReversed().map((outcome) => [`${outcome.publisherId} ${outcome.id}`, outcome])).values(),
  ];
  const { rows } = await executor.query<{ publisher_id: number; id: string }>({
    name: 'insert_outcomes',
    text: `insert into own_outcomes (publisher_id, id, user_key, name, value_micros, currency, at)
      select * from unnest($1::integer[], $2::text[], $3::uuid[], $4::text[], $5::bigint[], $6::text[],
        $7::timestamptz[])
      order by 1, 2 on conflict do nothing returning publisher_id, id`,
    values: [
      integers(firstOutcomes, ({ publisherId }) => publisherId),
      texts(firstOutcomes, ({ id }) => id),
      uuids(firstOutcomes, ({ userKey }) => userKey),
      texts(firstOutcomes, ({ name }) => name),
      bigints(firstOutcomes, ({ valueMicros }) => valueMicros),
      texts(firstOutcomes, ({ currency }) => currency),
      timestamps(firstOutcomes, ({ atMs }) => atMs),
    ],
  });
  const written = new Set(rows.map((row) => `${row.publisher_id} ${row.id}`));
  return batch.map((outcome) => firstOutcomes.includes(outcome) && written.has(`${outcome.publisherId} ${outcome.id}`));
}

/**
 * Creates a batcher that inserts the outcomes of concurrent calls together.
 * @returns a batcher that resolves each outcome to whether it is new
 */
export const createOutcomeWriter = (pool: pg.Pool, dbHealth: DatabaseHealth): Batcher<Outcome, boolean> =>
  createBatcher<Outcome, boolean>({ write: (batch) => insertOutcomes(pool, batch), dbHealth });
