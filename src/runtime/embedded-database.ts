import type { EmbeddedPostgres } from '../embedded/postgres.ts';
import type { Logger } from '../platform/logger.ts';
import { announceWait } from './announce-wait.ts';
import type { Parts } from './parts.ts';

/** Starts the embedded PostgreSQL, or attaches to the one that runs on DATA_DIR; it ends with `parts`. */
export async function startEmbedded(
  { dataDir }: { dataDir: string },
  logger: Logger,
  parts: Parts,
): Promise<EmbeddedPostgres> {
  const { startEmbeddedPostgres } = await import('../embedded/postgres.ts');
  const database = await announceWait(logger, `the embedded database in ${dataDir}`, () =>
    startEmbeddedPostgres({ dataDir, log: (line) => logger.info({}, line) }),
  );
  parts.add('embedded database', database.stop);
  return database;
}
