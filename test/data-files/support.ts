import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { type ExportResult, exportDue } from '../../src/data-files/export/run.ts';
import type { Limits } from '../../src/data-files/export/write-table.ts';
import { createStorage, type Storage } from '../../src/data-files/storage.ts';
import { type DataDifference, verifyDataFiles } from '../../src/data-files/verify.ts';
import { Connection } from '../../src/platform/db/pool.ts';
import { dayMs, dayOf } from '../../src/platform/lib/time.ts';
import type { TestBase } from '../support/test-modules.ts';

/** Returns the storage of a new temporary folder. */
export async function createTestFolder(): Promise<{ path: string; storage: Storage; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'perkwire-data-'));
  return {
    path,
    storage: createStorage({ kind: 'folder', path }),
    remove: () => rm(path, { recursive: true, force: true }),
  };
}

/** Runs work on a connection of its own, which is broken if the work fails. */
async function withConnection<T>(
  { databaseUrl }: Pick<TestBase, 'databaseUrl'>,
  work: (client: Connection) => Promise<T>,
): Promise<T> {
  const client = new Connection({ server: databaseUrl });
  await client.connect();
  try {
    const result = await work(client);
    await client.end();
    return result;
  } catch (err) {
    client.destroy();
    throw err;
  }
}

/** Exports everything that is committed. */
export const exportAll = (t: Pick<TestBase, 'databaseUrl'>, storage: Storage, limits?: Limits): Promise<ExportResult> =>
  withConnection(t, (client) =>
    exportDue(client, { storage, isStopped: () => false, atOnce: true, ...(limits !== undefined && { limits }) }),
  );

/** Returns the differences between the files and the database, of all days. */
export const verifyAll = async (t: Pick<TestBase, 'databaseUrl'>, storage: Storage): Promise<DataDifference[]> => {
  const days = { from: '2020-01-01', to: dayOf(Date.now() + dayMs) };
  return (await withConnection(t, (client) => verifyDataFiles(client, storage, days))).differences;
};

/** Options of a compaction of all days, with a lock that is never lost. */
export const compactAll = {
  before: dayOf(Date.now() + 2 * dayMs),
  checkLock: async () => {},
  withdrawnPublishers: new Set<number>(),
};

/** Runs a statement in DuckDB, and returns its rows with numbers and texts. */
export async function duckdb(sql: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
