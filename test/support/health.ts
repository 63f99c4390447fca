import { type DatabaseHealth, startDatabaseHealth } from '../../src/platform/db/health.ts';
import { createServers } from '../../src/platform/db/servers.ts';

/** Follows the health of a database by its URL. Records every change and its reason. */
export async function followHealth(
  databaseUrl: string,
  { commitTimeoutMs = 2000, now = Date.now } = {},
): Promise<{ dbHealth: DatabaseHealth; changes: boolean[]; reasons: string[] }> {
  const changes: boolean[] = [];
  const reasons: string[] = [];
  const dbHealth = await startDatabaseHealth({
    servers: createServers(databaseUrl),
    onChange: (up, reason) => {
      changes.push(up);
      if (reason !== undefined) reasons.push(reason.message);
    },
    commitTimeoutMs,
    now,
  });
  return { dbHealth, changes, reasons };
}
