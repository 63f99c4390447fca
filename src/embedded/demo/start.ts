import type { CatalogDeps } from '../../catalog/ports.ts';
import { transaction } from '../../platform/db/pool.ts';
import { redirectEndpoints, saveEndpoint } from '../../webhooks/endpoints/changes.ts';
import { embeddedDemoIds, loadDemoCatalogue } from './catalogue.ts';
import { createHistoryPartitions } from './history/write-history.ts';

/**
 * Loads the demo catalogue into an embedded database that holds no publisher yet, with a webhook to this server's own
 * receiver. All or nothing: a start that is killed in between is made good by the next one.
 * @returns whether it was loaded now
 */
export async function startDemo({ pool, catalog, config, secretBox, now }: CatalogDeps): Promise<boolean> {
  const loaded = await transaction(pool, async (executor) => {
    await executor.query("select pg_advisory_xact_lock(hashtext('perkwire_demo'))");
    const url = `http://127.0.0.1:${config.port}/demo/receiver`;
    const { rows } = await executor.query('select 1 from publishers limit 1');
    if (rows.length > 0) {
      // The receiver moves with the port.
      if (config.roles.includes('api'))
        await redirectEndpoints(executor, '^http://127[.]0[.]0[.]1:[0-9]+/demo/receiver$', url);
      return false;
    }
    const publisherId = await loadDemoCatalogue(executor, embeddedDemoIds);
    await saveEndpoint(executor, secretBox, {
      publisherId,
      event: 'usp.selection',
      url,
      method: 'POST',
      enabled: true,
      nowMs: now(),
    });
    return true;
  });
  if (loaded) {
    await catalog.refresh();
    // While nothing else holds locks; what fails is tried again when the history is written.
    await createHistoryPartitions(pool, now()).catch(() => {});
  }
  return loaded;
}
