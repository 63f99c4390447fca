import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CatalogStore, startCatalogStore } from '../../../src/catalog/store.ts';
import { buildIndex } from '../../../src/decision/build-index.ts';
import { createPool } from '../../../src/platform/db/pool.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { type OwnPostgres, startOwnPostgres } from '../../support/postgres.ts';

let server: OwnPostgres;
let pool: ReturnType<typeof createPool>;
let catalog: CatalogStore;
beforeAll(async () => {
  server = await startOwnPostgres();
  pool = createPool({ url: server.url, size: 2, applicationName: 'perkwire-test', onError: () => {} });
  const logger = createLogger('silent');
  catalog = await startCatalogStore({ pool, databaseUrl: server.url, logger, buildIndex, now: Date.now });
});
afterAll(async () => {
  await catalog?.stop();
  await pool?.end();
  await server?.close();
});

test('reloads everything after a failover to a server that used the same version for other changes', async () => {
  const { version, offers } = catalog.current();
  // Without triggers, the catalog version does not change. This simulates a promoted server that lost some changes and
  // made the same number of others.
  await server.query(`begin; set local session_replication_role = 'replica';
    update offers set title = 'Of the other history'; commit`);
  server.signalAll('SIGKILL');
  const restarted = async () => {
    await server.ensureRunning(); // again, because the killed server may not have ended yet
    return [...catalog.current().offers.values()][0]?.copy.title;
  };
  await expect.poll(restarted).toBe('Of the other history');
  expect(catalog.current().version).toBe(version);
  expect(catalog.current().offers.size).toBe(offers.size);
});
