import type pg from 'pg';
import type { Batcher } from '../platform/db/batcher.ts';
import { createBatcher } from '../platform/db/batcher.ts';
import { bigints, integers, texts, timestamps, uuids } from '../platform/db/binary-array.ts';
import type { DatabaseHealth } from '../platform/db/health.ts';
import type { Executor } from '../platform/db/pool.ts';
import { dayMs, hourMs } from '../platform/lib/time.ts';

/** A publisher's own outcome of a user. */
export type Outcome = {
  publisherId: number;
  id: string;
  userKey: string;
  name: string;
  valueMicros: number;
  currency: string | null;
  atMs: number;
};

/** How far back an outcome may be, and how far a clock may be ahead (milliseconds). */
const oldestMs = 30 * dayMs;
const aheadMs = hourMs;

/** Of one outcome, in either direction: what is beyond is a mistake, such as cents for euros many times over. */
export const maxOutcomeValue = 1_000_000;

/** Why an outcome cannot be of this time; null: it can. */
export function timeProblemOf(atMs: number, nowMs: number): string | null {
  if (Number.isNaN(atMs)) return 'must be a time such as 2030-01-31T12:00:00Z';
  if (atMs < nowMs - oldestMs) return 'must be of the last 30 days';
  return atMs > nowMs + aheadMs ? 'must not be in the future' : null;
}

/** Stores outcomes. @returns of each, whether it is new: the id was not there before */
export async function insertOutcomes(executor: Executor, batch: readonly Outcome[]): Promise<boolean[]> {
  // Of one id given twice in a batch, the first one counts.
  const firsts = [...new Map(batch.toReversed().map((one) => [`${one.publisherId} ${one.id}`, one])).values()];
  const { rows } = await executor.query<{ publisher_id: number; id: string }>({
    name: 'insert_outcomes',
    text: `insert into own_outcomes (publisher_id, id, user_key, name, value_micros, currency, at)
      select * from unnest($1::integer[], $2::text[], $3::uuid[], $4::text[], $5::bigint[], $6::text[],
        $7::timestamptz[])
      order by 1, 2 on conflict do nothing returning publisher_id, id`,
    values: [
      integers(firsts, ({ publisherId }) => publisherId),
      texts(firsts, ({ id }) => id),
      uuids(firsts, ({ userKey }) => userKey),
      texts(firsts, ({ name }) => name),
      bigints(firsts, ({ valueMicros }) => valueMicros),
      texts(firsts, ({ currency }) => currency),
      timestamps(firsts, ({ atMs }) => atMs),
    ],
  });
  const written = new Set(rows.map((row) => `${row.publisher_id} ${row.id}`));
  return batch.map((one) => firsts.includes(one) && written.has(`${one.publisherId} ${one.id}`));
}

/** Stores outcomes, those of concurrent calls at once. @returns whether it is new */
export const createOutcomeWriter = (pool: pg.Pool, dbHealth: DatabaseHealth): Batcher<Outcome, boolean> =>
  createBatcher<Outcome, boolean>({ write: (batch) => insertOutcomes(pool, batch), dbHealth });
