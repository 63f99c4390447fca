import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { timestamps, uuids } from '../../platform/db/binary-array.ts';
import { createPool, type Executor } from '../../platform/db/pool.ts';
import type { ServerUrl } from '../../platform/db/servers.ts';
import type { FileRow } from '../../platform/files/open.ts';
import type { Problem } from '../../platform/problem.ts';
import { changeSizes } from '../members/members.ts';
import type { MemberRow } from './member-rows.ts';

/** Number of rows staged per statement. */
const batchRows = 20_000;

/** Number of rows processed before yielding to the event loop. They take about 2 ms. */
const rowsPerTurn = 500;

/**
 * Time that yielding to the event loop may take, in milliseconds. If it takes longer, the process has other work, so
 * the import pauses for a multiple of that time.
 */
const busyMs = 0.5;
const pausePerTurn = 4;

/** Timeout of the statement that adds all members, in milliseconds. */
const addTimeoutMs = 10 * 60_000;

export type ImportProgress = {
  state: 'reading' | 'adding' | 'done' | 'failed';
  rows: number;
  bad: number;
  added: number;
  /** Row errors. If the import was read from the database, the messages are in English. */
  errors: { line: number; column: string | null; message: Problem | string }[];
};

type Loading = {
  url: ServerUrl;
  audienceId: number;
  batches: AsyncIterable<FileRow[]>;
  readRow: (row: FileRow) => MemberRow | null;
  /** Called after all rows have been read. Throws if the rows must not be added. */
  checkRows: () => void;
  /** Called after each progress update. */
  report: (state: ImportProgress['state']) => Promise<void>;
};

/**
 * Adds the members listed in a file. Either all valid rows are added in one transaction, or none. The rows are staged
 * in a temporary table on a dedicated connection, because the pool may close an idle connection, which would drop the
 * table.
 * @returns number of new members
 */
export async function loadMembers(loading: Loading): Promise<number> {
  const { url, audienceId, batches, readRow, checkRows, report } = loading;
  const settings = { work_mem: '256MB', idle_in_transaction_session_timeout: '60000' };
  const options = { size: 1, applicationName: 'perkwire-import', queryTimeoutMs: addTimeoutMs, onError: () => {} };
  const pool = createPool({ url, settings, ...options });
  try {
    const client = await pool.connect();
    try {
      await client.query('create temp table staged (user_key uuid not null, expires_at timestamptz)');
      const count = await stage(client, { batches, readRow, report });
      checkRows();
      if (count === 0) return 0;
      await report('adding');
      return await addStaged(client, audienceId);
    } finally {
      client.release(true);
    }
  } finally {
    await pool.end();
  }
}

async function addStaged(client: Executor, audienceId: number): Promise<number> {
  await client.query('begin');
  const added = await add(client, audienceId);
  await changeSizes(client, new Map([[audienceId, added]]));
  await client.query('commit');
  return added;
}

/** Reads all rows without storing them, for a dry run. */
export async function checkMembers({
  batches,
  readRow,
}: {
  batches: AsyncIterable<FileRow[]>;
  readRow: (row: FileRow) => MemberRow | null;
}): Promise<void> {
  let rows = 0;
  for await (const batch of batches)
    for (const row of batch) {
      rows += 1;
      if (rows % rowsPerTurn === 0) await yieldCpu();
      readRow(row);
    }
}

type Staging = { batches: Loading['batches']; readRow: Loading['readRow']; report: Loading['report'] };

/**
 * Stages the rows in the temporary table.
 * @returns number of staged rows
 */
async function stage(executor: Executor, { batches, readRow, report }: Staging): Promise<number> {
  let [rows, count] = [0, 0];
  let batch: MemberRow[] = [];
  /** Statement in progress. The next rows are read while it runs. */
  let staging: Promise<unknown> = Promise.resolve();
  for await (const records of batches) {
    for (const record of records) {
      rows += 1;
      if (rows % rowsPerTurn === 0) await yieldCpu();
      const row = readRow(record);
      if (row !== null) batch.push(row);
    }
    if (batch.length < batchRows) continue;
    await staging;
    staging = stageBatch(executor, batch);
    staging.catch(() => {}); // the next iteration reports the error
    count += batch.length;
    batch = [];
    await report('reading');
  }
  await staging;
  await stageBatch(executor, batch);
  return count + batch.length;
}

async function yieldCpu(): Promise<void> {
  const startMs = performance.now();
  await turn();
  const tookMs = performance.now() - startMs;
  if (tookMs > busyMs) await sleep(Math.min(20, pausePerTurn * tookMs));
}

const stageBatch = (executor: Executor, batch: readonly MemberRow[]) =>
  executor.query({
    name: 'stage_members',
    text: 'insert into staged select * from unnest($1::uuid[], $2::timestamptz[])',
    values: [uuids(batch, ({ userKey }) => userKey), timestamps(batch, ({ expiresAtMs }) => expiresAtMs)],
  });

/*
 * Rows are written in key order, as in all other statements. If a user has several rows, the latest expiry time is
 * used.
 */
const addSql = `
with added as (
  insert into audience_members as known (user_key, audience_id, expires_at)
  select user_key, $1::integer, nullif(max(coalesce(expires_at, 'infinity')), 'infinity')
  from staged group by user_key order by user_key
  on conflict (user_key, audience_id) do update set expires_at = excluded.expires_at
    where known.expires_at is distinct from excluded.expires_at
  returning xmax = 0 as is_new
)
select count(*) filter (where is_new)::float8 as count from added`;

async function add(executor: Executor, audienceId: number): Promise<number> {
  const { rows } = await executor.query<{ count: number }>(addSql, [audienceId]);
  return rows[0]?.count ?? 0;
}
