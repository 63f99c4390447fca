import { Connection, type Executor } from '../platform/db/pool.ts';

/**
 * Lets the rollups continue exactly where they stopped after a database was restored from a dump. Has no effect on
 * other databases. It must run before any process writes, and may take as long as updating all rows
 * (docs/operations.md#reports). The callback `before` runs first, in the same transaction. It can still find rows by
 * the transaction numbers from the dump, and can record where its own processing must continue.
 * @returns whether the database was restored
 */
export async function continueRestoredRollups(
  databaseUrl: string,
  before: (executor: Executor) => Promise<void> = async () => {},
): Promise<boolean> {
  const connection = new Connection({ server: databaseUrl, application_name: 'perkwire-restored' });
  await connection.connect();
  try {
    await connection.query('begin');
    const { rows } = await connection.query<{ restored: boolean }>(
      'select until_xid > pg_snapshot_xmax(pg_current_snapshot()) as restored from rollup_progress for update',
    );
    if (rows[0]?.restored !== true) return false;
    await before(connection);
    await connection.query('select continue_restored_rollups()');
    await connection.query('commit');
    return true;
  } finally {
    await connection.end();
  }
}
