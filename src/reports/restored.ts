import { Connection } from '../platform/db/pool.ts';

/**
 * Lets the rollups of a database that was restored from a dump continue where they were, exactly; does nothing to any
 * other. Must run before a process writes, and may take as long as an update of all rows
 * (docs/operations.md#reports).
 * @returns whether the database was restored
 */
export async function continueRestoredRollups(databaseUrl: string): Promise<boolean> {
  const connection = new Connection({ server: databaseUrl, application_name: 'perkwire-restored' });
  await connection.connect();
  try {
    const { rows } = await connection.query<{ restored: boolean }>('select continue_restored_rollups() as restored');
    return rows[0]?.restored === true;
  } finally {
    await connection.end();
  }
}
