import { ConfigError } from '../config/config-error.ts';
import type { Config } from '../config.ts';
import type { EmbeddedDatabase, EmbeddedDatabases } from '../platform/db/embedded.ts';
import type { Logger } from '../platform/logger.ts';
import { announceWait } from './announce-wait.ts';
import type { Parts } from './parts.ts';

/**
 * Returns the embedded databases.
 * @throws ConfigError if this program has no embedded databases
 */
export function requireEmbedded(embedded: EmbeddedDatabases | undefined): EmbeddedDatabases {
  if (embedded === undefined)
    throw new ConfigError(['DATABASE_URL must be set, because there is no embedded database']);
  return embedded;
}

/**
 * Starts the embedded database in DATA_DIR, or connects to its server if that is already running. The database stops
 * together with `parts`.
 */
export async function startEmbedded(
  embedded: EmbeddedDatabases,
  { dataDir }: Config,
  logger: Logger,
  parts: Parts,
): Promise<EmbeddedDatabase> {
  const database = await announceWait(logger, `the embedded database in ${dataDir}`, () =>
    embedded.start({ dataDir, log: (details, message) => logger.info(details, message) }),
  );
  parts.add('embedded database', database.stop);
  return database;
}
