import { createReadStream } from 'node:fs';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { timestamps, uuids } from '../../platform/db/binary-array.ts';
import { createPool, type Executor, transaction } from '../../platform/db/pool.ts';
import type { ServerUrl } from '../../platform/db/servers.ts';
import { changeSizes } from '../members/members.ts';
import type { ImportRow } from './csv.ts';
import { linesOf } from './csv.ts';

/** Rows that one statement stages (count). */
const batchRows = 20_000;

/** Lines read between two turns of the event loop (count): about 2 ms. */
const linesPerTurn = 500;

/** A turn that takes longer has other work: it gets several times as long before the next lines are read. */
const busyMs = 0.5;
const pausePerTurn = 4;

/** Rows that could not be read and are named (count). */
const maxErrors = 100;

/** The one statement that adds all members takes at most this long (milliseconds). */
const addTimeoutMs = 10 * 60_000;

export type ImportProgress = {
  state: 'reading' | 'adding' | 'done' | 'failed';
  rows: number;
  bad: number;
  added: number;
  errors: { line: number; message: string }[];
};

type Loading = {
  url: ServerUrl;
  audienceId: number;
  file: string;
  readRow: (line: string) => ImportRow | null;
  /** Changed as the import goes on. */
  progress: ImportProgress;
  /** Called after each change that others are to see. */
  report: () => Promise<void>;
};

type Staged = { userKey: string; expiresAtMs: number | null };

/**
 * Adds the members that a file names: all rows that can be read, in one transaction, or none. They are staged in a
 * table of the connection alone, which is gone with it.
 */
export async function loadMembers({ url, audienceId, file, readRow, progress, report }: Loading): Promise<void> {
  const settings = { work_mem: '256MB', idle_in_transaction_session_timeout: '60000' };
  const options = { size: 1, applicationName: 'perkwire-import', queryTimeoutMs: addTimeoutMs, onError: () => {} };
  const pool = createPool({ url, settings, ...options });
  try {
    await pool.query('create temp table staged (user_key uuid not null, expires_at timestamptz)');
    await stage(pool, { file, readRow, progress, report });
    if (progress.rows === progress.bad) return;
    progress.state = 'adding';
    await report();
    progress.added = await transaction(pool, async (executor) => {
      const added = await add(executor, audienceId);
      await changeSizes(executor, new Map([[audienceId, added]]));
      return added;
    });
  } finally {
    await pool.end();
  }
}

async function stage(
  executor: Executor,
  { file, readRow, progress, report }: Pick<Loading, 'file' | 'readRow' | 'progress' | 'report'>,
): Promise<void> {
  let line = 0;
  let batch: Staged[] = [];
  /** The next rows are read meanwhile. */
  let staging: Promise<unknown> = Promise.resolve();
  for await (const lines of linesOf(createReadStream(file, { highWaterMark: 256 * 1024 }))) {
    for (const text of lines) {
      line += 1;
      if (line % linesPerTurn === 0) await giveWay();
      const row = readRow(text);
      if (row === null) continue;
      progress.rows += 1;
      if ('problem' in row) {
        progress.bad += 1;
        if (progress.errors.length < maxErrors) progress.errors.push({ line, message: row.problem });
      } else batch.push(row);
    }
    if (batch.length < batchRows) continue;
    await staging;
    staging = stageBatch(executor, batch);
    staging.catch(() => {}); // the next one tells
    batch = [];
    await report();
  }
  await staging;
  await stageBatch(executor, batch);
}

async function giveWay(): Promise<void> {
  const startMs = performance.now();
  await turn();
  const tookMs = performance.now() - startMs;
  if (tookMs > busyMs) await sleep(Math.min(20, pausePerTurn * tookMs));
}

const stageBatch = (executor: Executor, batch: readonly Staged[]) =>
  executor.query({
    name: 'stage_members',
    text: 'insert into staged select * from unnest($1::uuid[], $2::timestamptz[])',
    values: [uuids(batch, ({ userKey }) => userKey), timestamps(batch, ({ expiresAtMs }) => expiresAtMs)],
  });

/* In the order of the keys, as everywhere. Of several rows of a user, the last end counts. */
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
