import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { Connection, Executor } from '../../platform/db/pool.ts';
import { listStored, type Manifest, manifestOfRun, readManifest, sumRows, writeManifest } from '../manifest.ts';
import type { Storage } from '../storage.ts';
import { copySql, dataTables, schemaVersion, type Transactions } from '../tables.ts';
import { buildIndexes } from './indexes.ts';
import { defaultLimits, type Limits, writeTable } from './write-table.ts';

/**
 * Delay between planning and exporting a run, in milliseconds. In this time, sessions that missed their deadline are
 * emptied, and delivery attempts end.
 */
const settleMs = 120_000;

/** Error when an export cannot continue until an operator acts. The message is shown to operators. */
class BlockedError extends Error {
  override readonly name = 'BlockedError';
}

/** Run with the transactions that it covers. */
export type Run = { id: number; plannedAt: Date; transactions: Transactions };

type RunRow = {
  id: number;
  planned_at: Date;
  from_xid: string;
  until_xid: string;
  late_xids: string[];
  open_xids: string[];
};

const runColumns = `id, planned_at, from_xid::text, until_xid::text, late_xids::text[], open_xids::text[]`;

const toRun = (row: RunRow): Run => ({
  id: row.id,
  plannedAt: row.planned_at,
  transactions: { from: row.from_xid, until: row.until_xid, late: row.late_xids, open: row.open_xids },
});

/**
 * Plans the next run, if its hour has ended. The snapshot of the statement determines which transactions have ended, so
 * each transaction belongs to exactly one run, however long it took. The hour comes from the database clock. If that
 * clock jumps, a run only becomes shorter or longer.
 */
const planSql = `
insert into data_file_runs (id, from_xid, until_xid, late_xids, open_xids)
select coalesce(last.id, 0) + 1, coalesce(last.until_xid, '0'), pg_snapshot_xmax(taken),
  array(
    select xid from unnest(last.open_xids) as xid where xid not in (select pg_snapshot_xip(taken))
  ),
  array(select pg_snapshot_xip(taken))
from (select pg_current_snapshot() as taken) as now left join lateral (
  select * from data_file_runs order by id desc limit 1
) as last on true
where last.id is null or last.confirmed_at is not null
  and ($1 or date_trunc('hour', last.planned_at, 'UTC') <> date_trunc('hour', now(), 'UTC'))
on conflict do nothing`;

const settleDelay = `make_interval(secs => ${settleMs / 1000})`;

/* If a run is in the future, the clock was set back after the run was planned. */
const openRunSql = `
select ${runColumns}, $1 or planned_at <= now() - ${settleDelay} or planned_at > now() + ${settleDelay} as settled
from data_file_runs where confirmed_at is null`;

/**
 * Returns the run to export now, after planning one if it is due. Returns null if no run is due.
 * @param atOnce whether to export what has been committed so far, without waiting for the end of the hour
 * @throws BlockedError if the database was restored into another cluster
 */
export async function dueRun(executor: Executor, atOnce: boolean): Promise<Run | null> {
  const { rows: restored } = await executor.query(
    `select from data_file_runs where restored_at is not null or until_xid > pg_snapshot_xmax(pg_current_snapshot())
    limit 1`,
  );
  if (restored.length > 0)
    throw new BlockedError(
      'The database was restored. Set DATA_FILES_URL to an empty folder or prefix, then run "perkwire data restart".',
    );
  await executor.query(planSql, [atOnce]);
  const { rows } = await executor.query<RunRow & { settled: boolean }>(openRunSql, [atOnce]);
  const [row] = rows;
  return row?.settled === true ? toRun(row) : null;
}

type ExportOptions = { storage: Storage; isStopped: () => boolean; limits?: Limits };

/**
 * Exports a run: writes its files, writes its manifest, and confirms it. If the process is killed, the next attempt
 * removes its files and writes the same rows again. Once the manifest exists, no more files are written.
 * @param client connection that holds the export lock
 */
async function exportRun(
  client: Connection,
  run: Run,
  { storage, isStopped, limits = defaultLimits }: ExportOptions,
): Promise<Manifest> {
  const name = manifestOfRun(run.id);
  const written = await readManifest(storage, name);
  if (written !== null) checkManifest(written, run.id, run.transactions.until);
  else if (run.id > 1)
    checkManifest(await readManifest(storage, manifestOfRun(run.id - 1)), run.id - 1, run.transactions.from);
  const manifest = written ?? (await writeFiles(client, run, { storage, isStopped, limits }));
  if (written === null) {
    // 3. Check that the connection still holds the lock. Otherwise another process may be writing the same files.
    await client.query('select 1');
    await writeManifest(storage, name, manifest);
  }
  // 4. Confirm the run. The next one starts where it ended.
  await client.query(
    `update data_file_runs set confirmed_at = now(), rows = $2, files = $3, bytes = $4, error = null, failed_at = null
    where id = $1 and confirmed_at is null`,
    [
      run.id,
      manifest.files.reduce((sum, { rows }) => sum + rows, 0),
      manifest.files.length,
      manifest.files.reduce((sum, { bytes }) => sum + bytes, 0),
    ],
  );
  return manifest;
}

/**
 * Checks that the manifest of a run belongs to this export. In another folder, the files would lack all earlier rows.
 * @throws BlockedError
 */
function checkManifest(manifest: Manifest | null, run: number, until: string): void {
  if (manifest?.transactions?.until === until) return;
  throw new BlockedError(
    `The storage does not contain run ${run} of this export. Set DATA_FILES_URL to the location of the earlier runs, ` +
      'or to an empty folder or prefix and run "perkwire data restart".',
  );
}

async function writeFiles(client: Connection, run: Run, options: Required<ExportOptions>): Promise<Manifest> {
  const { rows } = await client.query<{ attempts: number }>(
    'update data_file_runs set attempts = attempts + 1 where id = $1 returning attempts',
    [run.id],
  );
  const attempt = { run: run.id, attempt: rows[0]?.attempts ?? 1 };
  // Files of earlier attempts contain the same rows. A reader that lists folders would count them twice.
  if (attempt.attempt > 1)
    for (const stored of await listStored(options.storage, dataTables))
      if (stored.run === run.id) await options.storage.remove(stored.path);
  await notePlainPublishers(client);
  const isFirst = run.transactions.from === '0';
  if (!isFirst) await buildIndexes(client, options.isStopped);
  // 1. The settings make PostgreSQL find new rows by index, as for rollups.
  await client.query(`set enable_seqscan = ${isFirst ? 'on' : 'off'}; set jit = off`);
  const manifest: Manifest = {
    schema_version: schemaVersion,
    run: run.id,
    planned_at: run.plannedAt.toISOString(),
    written_at: '',
    transactions: run.transactions,
    rows: {},
    files: [],
    replaces: [],
  };
  // 2. Export each table. They don't need a common snapshot, because rows are selected by their transactions.
  for (const table of dataTables) {
    const source = copyTo(copySql(table, run.transactions));
    // Submit the stream through the base class, because the connection's own method expects promises.
    (pg.Client.prototype.query as (stream: pg.Submittable) => void).call(client, source);
    manifest.files.push(...(await writeTable(table, source, { ...options, attempt })));
  }
  manifest.rows = sumRows(manifest.files);
  manifest.written_at = new Date().toISOString();
  return manifest;
}

/** Stores which publishers want plain user IDs, so that erasures and compactions find their IDs in all later files. */
const notePlainPublishers = (executor: Executor) =>
  executor.query(
    `insert into data_file_plain_publishers (publisher_id)
    select id from publishers where data_file_user_ids = 'plain' on conflict do nothing`,
  );

/** Returns the publishers whose files may contain plain user IDs although they now want only keyed hashes. */
export async function findWithdrawnPublishers(executor: Executor): Promise<Set<number>> {
  const { rows } = await executor.query<{ id: number }>(
    `select p.id from data_file_plain_publishers join publishers p on p.id = publisher_id
    where p.data_file_user_ids <> 'plain'`,
  );
  return new Set(rows.map(({ id }) => id));
}

const lockKey = "hashtext('perkwire_data_files')";

/** Result of `exportDue`, with the last run. `busy` means that another process is exporting. */
export type ExportResult = { state: 'exported' | 'nothing due' | 'busy'; run?: number; rows?: number };

/**
 * Exports the run that is due, unless another process is exporting. With `atOnce`, a run that was planned earlier is
 * followed by another one, so that all rows that were committed before the call are exported.
 * @param client connection used only for this export, without a timeout; the caller must close it, even after an error
 */
export async function exportDue(
  client: Connection,
  { atOnce, ...options }: ExportOptions & { atOnce: boolean },
): Promise<ExportResult> {
  const { rows } = await client.query<{ locked: boolean }>(`select pg_try_advisory_lock(${lockKey}) as locked`);
  if (rows[0]?.locked !== true) return { state: 'busy' };
  const { rows: open } = await client.query('select from data_file_runs where confirmed_at is null');
  let rowCount = 0;
  for (let runs = atOnce ? open.length + 1 : 1; ; runs -= 1) {
    const run = await dueRun(client, atOnce);
    if (run === null) return { state: 'nothing due' };
    const manifest = await exportRun(client, run, options);
    rowCount += Object.values(manifest.rows).reduce((sum, count) => sum + count, 0);
    if (runs === 1) return { state: 'exported', run: run.id, rows: rowCount };
  }
}

/**
 * Stores why an export failed, for operators. Hides the messages of errors that may contain data. An export that was
 * stopped has not failed.
 */
export async function noteFailure(executor: Executor, { name, message }: Error): Promise<void> {
  if (name === 'StoppedError') return;
  const isForOperators = name === 'StorageError' || name === 'BlockedError';
  const error = isForOperators ? message : `The export failed: ${name}`;
  await executor.query(
    `update data_file_runs set error = $1, failed_at = now()
    where id = (select max(id) from data_file_runs)`,
    [error.slice(0, 500)],
  );
}

/** Acquires the export lock, waiting for a running export. The lock is held until the connection ends. */
export async function lockExports(client: pg.ClientBase): Promise<void> {
  await client.query(`select pg_advisory_lock(${lockKey})`);
}
