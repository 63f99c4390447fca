import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Executor } from '../../platform/db/pool.ts';
import { changeSizes } from '../members/members.ts';

/*
 * SQL that sorts the staged users by key. All other statements use the same order. If a user has several rows, the
 * latest expiry time is used.
 */
const sortSql = `
create temp table sorted on commit drop as
select user_key, nullif(max(coalesce(expires_at, 'infinity')), 'infinity') as expires_at
from staged group by user_key order by user_key`;

/**
 * Minimum number of pages of the sorted table to add per statement, with about 150 users each. The number of statements
 * is limited, because each one is a subtransaction, and PostgreSQL slows down all other statements if a transaction has
 * more than 64.
 */
const slicePages = 64;
const maxSlices = 50;

/**
 * Adds all staged users in one transaction, slice by slice. Pauses between slices if the process has other work.
 * @param onSlice called after each slice
 * @returns number of new members
 */
export async function addStaged(client: Executor, audienceId: number, onSlice: () => Promise<void>): Promise<number> {
  await client.query('begin');
  await client.query(sortSql);
  const { rows } = await client.query<{ pages: number; isEmpty: boolean }>(
    `select (pg_relation_size('sorted') / current_setting('block_size')::int)::int as pages,
      not exists (select from audience_members where audience_id = $1) as "isEmpty"`,
    [audienceId],
  );
  const [{ pages, isEmpty }] = rows as [{ pages: number; isEmpty: boolean }];
  const step = Math.max(slicePages, Math.ceil(pages / maxSlices));
  let added = 0;
  for (let from = 0; from < pages; from += step) {
    const pause = startPause();
    const slice = [audienceId, `(${from},0)`, `(${from + step},0)`];
    added += (isEmpty ? await addNew(client, slice) : null) ?? (await addOrUpdate(client, slice));
    await onSlice();
    if (from + step < pages) await pause();
  }
  await changeSizes(client, new Map([[audienceId, added]]));
  await client.query('commit');
  return added;
}

/** Share of time for which the event loop must be in use for the process to count as busy. */
const busyShare = 0.3;

/**
 * Maximum duration of a pause, in milliseconds, and its duration as a multiple of the time that the slice took. While a
 * slice is added, the throughput of fetches may drop by half. With this multiple, the average drop is then a tenth.
 */
const maxPauseMs = 20_000;
const pausePerSlice = 4;

/** Starts measuring a slice. Returns a function that pauses if the process was busy with other work in the meantime. */
function startPause(): () => Promise<void> {
  const startMs = performance.now();
  const start = performance.eventLoopUtilization();
  return async () => {
    if (performance.eventLoopUtilization(start).utilization < busyShare) return;
    await sleep(Math.min(maxPauseMs, pausePerSlice * (performance.now() - startMs)));
  };
}

const insertSql = `
insert into audience_members (user_key, audience_id, expires_at)
select user_key, $1::integer, expires_at from sorted where ctid >= $2::tid and ctid < $3::tid order by user_key`;

const uniqueViolation = '23505';

/**
 * Adds a slice to an audience that had no members before. Because it does not look for existing members, it takes two
 * thirds of the time.
 * @returns number of new members, or null if one of them was added at the same time
 */
async function addNew(client: Executor, slice: unknown[]): Promise<number | null> {
  await client.query('savepoint slice');
  let added: number | null = null;
  try {
    added = (await client.query(insertSql, slice)).rowCount;
  } catch (err) {
    if ((err as { code?: unknown }).code !== uniqueViolation) throw err;
    await client.query('rollback to savepoint slice');
  }
  await client.query('release savepoint slice');
  return added;
}

/* Members whose expiry does not change are skipped, because `on conflict` would lock and thus write their rows. */
const addOrUpdateSql = `
with added as (
  insert into audience_members as known (user_key, audience_id, expires_at)
  select user_key, $1::integer, expires_at from sorted
  where ctid >= $2::tid and ctid < $3::tid and not exists (
    select from audience_members m where m.user_key = sorted.user_key and m.audience_id = $1::integer
      and m.expires_at is not distinct from sorted.expires_at
  )
  order by user_key
  on conflict (user_key, audience_id) do update set expires_at = excluded.expires_at
    where known.expires_at is distinct from excluded.expires_at
  returning xmax = 0 as is_new
)
select count(*) filter (where is_new)::float8 as count from added`;

async function addOrUpdate(client: Executor, slice: unknown[]): Promise<number> {
  const { rows } = await client.query<{ count: number }>(addOrUpdateSql, slice);
  return rows[0]?.count ?? 0;
}
