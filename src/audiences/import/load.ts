import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { packedUuids, timestamps } from '../../platform/db/binary-array.ts';
import { createPool, type Executor } from '../../platform/db/pool.ts';
import type { ServerUrl } from '../../platform/db/servers.ts';
import type { FileRow } from '../../platform/files/open.ts';
import type { Problem } from '../../platform/problem.ts';
import { addStaged } from './add.ts';
import type { MemberBatch, MemberReader } from './member-rows.ts';

/** Number of rows staged per statement. */
const batchRows = 20_000;

/** Number of rows processed before yielding to the event loop. They take about 2 ms. */
const rowsPerTurn = 500;

/**
 * Time that yielding to the event loop may take, in milliseconds. If it takes longer, the process has other work, so
 * the import pauses for a multiple of that time.
 */
const busyMs = 0.5;
const pausePerTurn = 8;
const maxPauseMs = 40;

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
  reader: MemberReader;
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
  const { url, audienceId, batches, reader, checkRows, report } = loading;
  const settings = { work_mem: '256MB', idle_in_transaction_session_timeout: '60000' };
  const options = { size: 1, applicationName: 'perkwire-import', queryTimeoutMs: addTimeoutMs, onError: () => {} };
  const pool = createPool({ url, settings, ...options });
  try {
    const client = await pool.connect();
    try {
      await client.query('create temp table staged (user_key uuid not null, expires_at timestamptz)');
      const count = await stage(client, { batches, reader, report });
      checkRows();
      if (count === 0) return 0;
      await report('adding');
      return await addStaged(client, audienceId, () => report('adding'));
    } finally {
      client.release(true);
    }
  } finally {
    await pool.end();
  }
}

type Checking = { batches: Loading['batches']; reader: Loading['reader'] };

/** Reads all rows without storing them, for a dry run. */
export async function checkMembers({ batches, reader }: Checking): Promise<void> {
  let rows = 0;
  for await (const batch of batches)
    for (const row of batch) {
      rows += 1;
      if (rows % rowsPerTurn === 0) await yieldCpu();
      reader.add(row);
      if (reader.count() >= batchRows) reader.take();
    }
}

type Staging = Checking & { report: Loading['report'] };

/**
 * Stages the rows in the temporary table.
 * @returns number of staged rows
 */
async function stage(executor: Executor, { batches, reader, report }: Staging): Promise<number> {
  let [rows, count] = [0, 0];
  /** Statement in progress. The next rows are read while it runs. */
  let staging: Promise<unknown> = Promise.resolve();
  for await (const batch of batches) {
    for (const row of batch) {
      rows += 1;
      if (rows % rowsPerTurn === 0) await yieldCpu();
      reader.add(row);
    }
    if (reader.count() < batchRows) continue;
    await staging;
    count += reader.count();
    staging = stageBatch(executor, reader.take());
    staging.catch(() => {}); // the next iteration reports the error
    await report('reading');
  }
  await staging;
  count += reader.count();
  await stageBatch(executor, reader.take());
  return count;
}

async function yieldCpu(): Promise<void> {
  const startMs = performance.now();
  await turn();
  const tookMs = performance.now() - startMs;
  if (tookMs > busyMs) await sleep(Math.min(maxPauseMs, pausePerTurn * tookMs));
}

const stageBatch = (executor: Executor, { keys, expiryMs }: MemberBatch) =>
  executor.query({
    name: 'stage_members',
    text: 'insert into staged select * from unnest($1::uuid[], $2::timestamptz[])',
    values: [packedUuids(keys), timestamps(expiryMs, (endMs) => endMs)],
  });
