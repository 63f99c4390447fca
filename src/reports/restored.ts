import { Connection, type Executor } from '../platform/db/pool.ts';

/**
 * Lets the rollups of a database that was restored from a dump continue exactly where they were; does nothing to other
 * databases. Must run before a process writes, and may take as long as an update of all rows
 * (docs/operations.md#reports). `before` reads rows by the numbers they had in the dump, and writes where it continues,
 * in the same transaction.
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
