import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EmbeddedDatabases } from '../platform/db/embedded.ts';
import type { DatabaseHealth } from '../platform/db/health.ts';
import type { Logger } from '../platform/logger.ts';

/** Embedded PostgreSQL. Its code is imported only when the server is started. */
export const embeddedDatabases: EmbeddedDatabases = {
  isIn: (dataDir) => ['postgres', 'postgres.location'].some((name) => existsSync(join(dataDir, name))),
  start: async (options) => (await import('./postgres.ts')).startEmbeddedPostgres(options),
  supervise: superviseEmbedded,
};

/** Interval between checks while the server does not respond, in milliseconds. */
const retryMs = 500;

/**
 * Restarts the server whenever it dies while this process is running.
 * @returns a function that stops the supervision
 */
export function superviseEmbedded(
  database: { ensureRunning: () => Promise<unknown> },
  { dbHealth, logger }: { dbHealth: DatabaseHealth; logger: Logger },
): () => Promise<void> {
  let stopped = false;
  let restarting: Promise<void> | null = null;

  async function restart(): Promise<void> {
    while (!stopped && !dbHealth.isUp()) {
      await database.ensureRunning().catch((err) => logger.error({ err }, 'embedded database restart failed'));
      await sleep(retryMs);
    }
  }

  dbHealth.onDown(() => {
    restarting ??= restart().finally(() => {
      restarting = null;
    });
  });
  return async () => {
    stopped = true;
    await restarting;
  };
}
