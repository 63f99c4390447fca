import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { ensurePartitions } from '../../src/platform/db/partitions.ts';
import { createPool, transaction } from '../../src/platform/db/pool.ts';
import { loadTestCatalogue } from './catalogue.ts';

/** Creates a cluster with the template database in an empty folder, and stops it. */
export async function makeTemplate(dataDir: string): Promise<void> {
  const server = await startEmbeddedPostgres({ dataDir, flags: ['fsync=off', 'full_page_writes=off'] });
  try {
    await fillTemplate(server.url);
  } finally {
    await server.stop();
  }
}

/** Adds the schema, today's partitions and the test catalogue to a database. */
export async function fillTemplate(url: string): Promise<void> {
  await migrate(url);
  const pool = createPool({ url, size: 1, applicationName: 'perkwire-test', onError: () => {} });
  await ensurePartitions(pool, Date.now());
  await transaction(pool, loadTestCatalogue);
  await pool.end();
}
