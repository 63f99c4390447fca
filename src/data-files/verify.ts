import { createHash } from 'node:crypto';
import { parquetMetadata } from 'hyparquet';
import type { Connection } from '../platform/db/pool.ts';
import { type DataFile, listStored, readFiles } from './manifest.ts';
import type { Storage } from './storage.ts';
import { type DataTable, dataTables, isExported, type Transactions } from './tables.ts';

/** Difference between the data files and the database. */
export type DataDifference = { what: string; problem: string };

export type DataVerification = {
  /** Last run that was compared. */
  run: number;
  /** Number of files that were read. */
  files: number;
  /** Number of rows in the database that were compared. */
  rows: number;
  differences: DataDifference[];
};

type Days = { from: string; to: string };

/**
 * Compares the data files of a range of days with the database, by table, publisher and day. Reads each file, and
 * compares its size, checksum and rows with the manifest. Reports files that no manifest lists. Also compares sessions
 * and shown offers with the totals that reports reconcile. The database must still contain the raw rows of these days.
 * The caller must hold the export lock.
 */
export async function verifyDataFiles(client: Connection, storage: Storage, days: Days): Promise<DataVerification> {
  const { rows: runs } = await client.query<{ id: number; until: string; open: string[] }>(
    `select id, until_xid::text as until, open_xids::text[] as open from data_file_runs
    where confirmed_at is not null order by id desc limit 1`,
  );
  const [run] = runs;
  if (run === undefined) return { run: 0, files: 0, rows: 0, differences: [] };
  const { current, lastRun } = await readFiles(storage);
  const files = current.filter(({ date }) => date >= days.from && date <= days.to);
  const differences: DataDifference[] = [];
  if (lastRun < run.id)
    differences.push({ what: `run ${run.id}`, problem: 'its manifest is missing from the storage' });
  // Read the files before the transaction begins. Reading takes long, and the transaction must not be idle.
  for (const file of files) differences.push(...(await verifyFile(storage, file)));
  const currentPaths = new Set(current.map(({ path }) => path));
  for (const stored of await listStored(storage, dataTables))
    if (!currentPaths.has(stored.path) && (stored.run ?? 0) <= run.id)
      differences.push({ what: stored.path, problem: 'no manifest lists the file: run "perkwire data compact"' });
  const transactions: Transactions = { from: '0', until: run.until, late: [], open: run.open };
  await client.query('begin transaction isolation level repeatable read, read only');
  try {
    let rows = 0;
    for (const table of dataTables) {
      const counts = await countRows(client, table, transactions, days);
      rows += [...counts.values()].reduce((sum, count) => sum + count, 0);
      differences.push(...compare(table, counts, files));
    }
    differences.push(...(await reconcile(client, transactions, days, files)));
    return { run: run.id, files: files.length, rows, differences };
  } finally {
    await client.query('rollback');
  }
}

/** Compares a file with its entry in the manifest. */
async function verifyFile(storage: Storage, file: DataFile): Promise<DataDifference[]> {
  const bytes = await storage.get(file.path);
  if (bytes === null) return [{ what: file.path, problem: 'the file is missing' }];
  if (bytes.length !== file.bytes || createHash('sha256').update(bytes).digest('hex') !== file.sha256)
    return [{ what: file.path, problem: 'the size or checksum of the file differs from the manifest' }];
  const { buffer, byteOffset, byteLength } = bytes;
  const metadata = parquetMetadata(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer);
  const rows = Number(metadata.num_rows);
  return rows === file.rows ? [] : [{ what: file.path, problem: `rows: ${file.rows} → ${rows}` }];
}

const keyOf = (date: string, publisherId: number): string => `date=${date} publisher=${publisherId}`;

/** Counts the exported rows of a table in the database, without test traffic, by partition. */
async function countRows(
  client: Connection,
  table: DataTable,
  transactions: Transactions,
  { from, to }: Days,
): Promise<Map<string, number>> {
  const { rows } = await client.query<{ date: string; publisher_id: number; rows: string }>(
    `select t.day::text as date, t.publisher_id, sum(${table.elements ?? '1'})::text as rows
    ${table.from}
    where t.day between $1::date and $2::date and ${isExported(table, transactions)}
      and not (${table.isTest ?? 'false'})
    group by 1, 2`,
    [from, to],
  );
  return new Map(rows.map((row) => [keyOf(row.date, row.publisher_id), Number(row.rows)]));
}

/** Sums rows of files without test traffic, by partition. */
function sumFiles(name: string, files: readonly DataFile[], rowsOf: (file: DataFile) => number): Map<string, number> {
  const sums = new Map<string, number>();
  for (const file of files) {
    if (file.table !== name) continue;
    const key = keyOf(file.date, file.publisher_id);
    sums.set(key, (sums.get(key) ?? 0) + rowsOf(file));
  }
  return sums;
}

function compare(table: DataTable, stored: Map<string, number>, files: readonly DataFile[]): DataDifference[] {
  const filed = sumFiles(table.name, files, (file) => file.rows - file.test_rows);
  return differencesOf(table.name, stored, filed, (inDatabase, inFiles) =>
    table.shrinks === true ? inFiles >= inDatabase : inFiles === inDatabase,
  );
}

const differencesOf = (
  name: string,
  stored: ReadonlyMap<string, number>,
  filed: ReadonlyMap<string, number>,
  isRight: (stored: number, filed: number) => boolean,
): DataDifference[] =>
  [...new Set([...stored.keys(), ...filed.keys()])].sort().flatMap((key) => {
    const [inDatabase, inFiles] = [stored.get(key) ?? 0, filed.get(key) ?? 0];
    return isRight(inDatabase, inFiles)
      ? []
      : [{ what: `${name} ${key}`, problem: `database ${inDatabase}, files ${inFiles}` }];
  });

/* $1, $2: first and last day. Totals that reports have counted, without the rows that are not in the files yet. */
const reconciledSql = (transactions: Transactions): string => `
select day::text as date, publisher_id, name, sum(count)::text as rows from (
  select day, publisher_id, case kind when 'served' then 'shown_offers' else 'sessions' end as name, count
  from reconciliation where kind in ('filled', 'empty', 'served') and day between $1::date and $2::date
  union all
  select t.day, t.publisher_id, part.name, part.count
  from sessions t cross join lateral (
    values ('sessions', -1::bigint), ('shown_offers', -cardinality(t.offer_ids)::bigint)
  ) as part (name, count) cross join rollup_progress p
  where t.day between $1::date and $2::date and t.written_by < p.until_xid and t.written_by <> all (p.open_xids)
    and not ${isExported(dataTables[0] as DataTable, transactions)}
  union all
  select t.day, t.publisher_id, part.name, part.count
  from sessions t cross join lateral (
    values ('sessions', 1::bigint), ('shown_offers', cardinality(t.offer_ids)::bigint)
  ) as part (name, count) cross join rollup_progress p
  where t.day between $1::date and $2::date
    and not (t.written_by < p.until_xid and t.written_by <> all (p.open_xids))
    and ${isExported(dataTables[0] as DataTable, transactions)}
) as parts group by 1, 2, 3`;

async function reconcile(
  client: Connection,
  transactions: Transactions,
  { from, to }: Days,
  files: readonly DataFile[],
): Promise<DataDifference[]> {
  const { rows } = await client.query<{ date: string; publisher_id: number; name: string; rows: string }>(
    reconciledSql(transactions),
    [from, to],
  );
  return ['sessions', 'shown_offers'].flatMap((name) => {
    const reconciled = new Map(
      rows.filter((row) => row.name === name).map((row) => [keyOf(row.date, row.publisher_id), Number(row.rows)]),
    );
    const filed = sumFiles(name, files, (file) => file.rows);
    return differencesOf(`reconciliation of ${name}`, reconciled, filed, (counted, inFiles) => counted === inFiles);
  });
}
