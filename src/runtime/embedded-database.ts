import type { Config } from '../config.ts';
import type { EmbeddedPostgres } from '../embedded/postgres/index.ts';
import type { Logger } from '../platform/logger.ts';
import type { Parts } from './parts.ts';

/** Starts the embedded PostgreSQL, or attaches to the one that runs on DATA_DIR; it ends with `parts`. */
export async function startEmbedded(
  { dataDir }: Pick<Config, 'dataDir'>,
  logger: Logger,
  parts: Pick<Parts, 'add'>,
): Promise<EmbeddedPostgres> {
  const { startEmbeddedPostgres } = await import('../embedded/postgres/index.ts');
  const database = await startEmbeddedPostgres({ dataDir, log: (line) => logger.info({}, line) });
  parts.add('embedded database', database.stop);
  return database;
}

/** The demo's receiver is on this machine. */
export function allowLocalWebhooks(config: Pick<Config, 'webhookAllowNets' | 'webhookAllowHttp'>): void {
  config.webhookAllowNets = [config.webhookAllowNets, '127.0.0.0/8', '::1/128'].filter((nets) => nets !== '').join(',');
  config.webhookAllowHttp = true;
}
