import { createManagement } from '../management/unit-of-work.ts';
import { createFailFast } from '../platform/db/health.ts';
import { retryStart } from '../platform/db/retry-start.ts';
import { healthRoutes } from '../platform/health/routes.ts';
import type { App } from '../platform/http/app.ts';
import type { Platform } from '../platform/module.ts';
import { createSigner } from '../platform/security/tracking-token.ts';
import { createPlacements } from './snapshot/placements.ts';
import { registerCatalogMetrics, startCatalogStore } from './store.ts';
import type { BuildIndex, EventLog } from './types.ts';

export type Catalog = Awaited<ReturnType<typeof createCatalog>>;

/** Creates the catalog module: the configuration snapshot that requests use, and units of work that change it. */
export async function createCatalog({ platform, buildIndex }: { platform: Platform; buildIndex: BuildIndex }) {
  const { pool, dbHealth, logger, now, config, metrics } = platform.deps;
  const failFast = createFailFast(dbHealth);
  const store = await retryStart(() =>
    startCatalogStore({
      pool,
      databaseUrl: platform.databaseUrl,
      logger,
      buildIndex,
      now,
      limitBytes: config.catalogueMemoryMb === 0 ? null : config.catalogueMemoryMb * 2 ** 20,
      failFast,
    }),
  );
  registerCatalogMetrics(metrics.registry, store, now);
  return {
    name: 'catalog',
    rank: 20,
    store,
    management: createManagement({ pool, dbHealth, catalog: store, logger, now }),
    placements: createPlacements(pool, failFast),
    cursors: createSigner(config.tokenKeys, 'list-cursor'),
    probes: async (app: App, { eventLog }: { eventLog: EventLog | null }) =>
      void (await app.register(healthRoutes, { dbHealth, catalogVersion: () => store.current().version, eventLog })),
    close: store.stop,
  };
}
