import type pg from 'pg';
import { storeKnownKey } from '../accounts/keys.ts';
import type { CatalogStore } from '../catalog/store.ts';
import { createdMs } from '../catalog-admin/kinds.ts';
import { removeAdvertiserBursts, setDefaultPlacement } from '../catalog-admin/seed.ts';
import type { Config } from '../config.ts';
import { backdateExperiment } from '../experiments/past.ts';
import { lastSessionBefore } from '../offers/sessions.ts';
import { type Executor, transaction } from '../platform/db/pool.ts';
import { isPerkwireAt } from '../platform/health/probe.ts';
import { dayMs } from '../platform/lib/time.ts';
import type { Logger } from '../platform/logger.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { endpointUrls, redirectEndpoints, removeEndpointBursts, saveEndpoint } from '../webhooks/endpoint-changes.ts';
import { callOwnApi, fillAreas } from './areas.ts';
import { demoOperatorKey, embeddedDemoIds, loadDemoCatalogue } from './catalogue.ts';
import { historyDays } from './history/sessions.ts';
import { printWelcome } from './welcome.ts';
import { activeOffers, createHistoryPartitions, type HistoryDeps, writeHistory } from './write-history.ts';

/** Demo functions for an installation with the embedded database. */
export const embeddedDemo = { start: startDemo, fill: fillDemo, printWelcome };

type StartDeps = { pool: pg.Pool; catalog: CatalogStore; config: Config; secretBox: SecretBox; now: () => number };

/** PostgreSQL regular expression that matches the URL of the demo receiver at any port. */
const receiverPattern = '^http://127[.]0[.]0[.]1:[0-9]+/demo/receiver$';

/**
 * Loads the demo catalogue, with a webhook to this server's own receiver. Does nothing if the embedded database already
 * contains a publisher. Loading is atomic: if it is interrupted, the next start repeats it.
 * @returns whether this call loaded the demo
 */
export async function startDemo({ pool, catalog, config, secretBox, now }: StartDeps): Promise<boolean> {
  const loaded = await transaction(pool, async (executor) => {
    await executor.query("select pg_advisory_xact_lock(hashtext('perkwire_demo'))");
    const url = `http://127.0.0.1:${config.port}/demo/receiver`;
    const { rows } = await executor.query('select 1 from publishers limit 1');
    if (rows.length > 0) {
      // Update the receiver URL, because the port may have changed. If another process of this database is running,
      // its receiver keeps the webhooks.
      const current = await endpointUrls(executor, receiverPattern);
      const isShared = (await Promise.all(current.map((other) => other !== url && isPerkwireAt(other)))).includes(true);
      if (config.roles.includes('api') && !isShared) await redirectEndpoints(executor, receiverPattern, url);
      await removeLeftovers(executor, now());
      return false;
    }
    const publisherId = await loadDemoCatalogue(executor, embeddedDemoIds);
    await setDefaultPlacement(executor, publisherId, 'checkout'); // as programs without a placement expect
    await openDemo(executor, secretBox, { publisherId, receiverUrl: url, nowMs: now() });
    return true;
  });
  if (loaded) {
    await catalog.refresh();
    // Create partitions now, before other connections hold locks. If this fails, they are created when the history is
    // generated.
    await createHistoryPartitions(pool, now()).catch(() => {});
  }
  return loaded;
}

/**
 * Removes groups of endpoints and advertisers that were created by API reference examples in earlier versions. A single
 * endpoint or advertiser is kept, because a user may have created it.
 */
export async function removeLeftovers(executor: Executor, nowMs: number): Promise<void> {
  await removeEndpointBursts(executor, { url: 'https://shop.example/hooks', description: 'Orders', nowMs });
  await removeAdvertiserBursts(executor, 'Green Farm', nowMs);
}

/**
 * Creates the parts of the embedded demo that the catalogue does not contain: the webhook to the demo's own receiver,
 * and the operator key.
 */
export async function openDemo(
  executor: Executor,
  secretBox: SecretBox,
  { publisherId, receiverUrl, nowMs }: { publisherId: number; receiverUrl: string; nowMs: number },
): Promise<void> {
  const endpoint = { publisherId, event: 'usp.selection', url: receiverUrl, method: 'POST', enabled: true } as const;
  await saveEndpoint(executor, secretBox, { ...endpoint, nowMs });
  await storeKnownKey(executor, {
    publisherId,
    name: 'Demo operator',
    key: demoOperatorKey,
    permissions: ['accounts'],
  });
}

/**
 * Fills the demo after its first start: the areas of the dashboard, and the six weeks of activity before the start.
 * Continues what an earlier process did not complete. Does nothing while another process fills the demo. Requires that
 * this process serves the API.
 */
async function fillDemo(deps: HistoryDeps & { logger: Logger }): Promise<void> {
  const { pool, catalog, config, logger } = deps;
  const publisher = catalog.current().publishersBySdkId.get(embeddedDemoIds.sdkId);
  if (publisher === undefined) return;
  await catalog.ready(publisher.id);
  const lock = await pool.connect();
  try {
    const { rows } = await lock.query<{ locked: boolean }>(
      "select pg_try_advisory_lock(hashtext('perkwire_demo_fill')) as locked",
    );
    if (rows[0]?.locked !== true) return;
    const firstStartMs = await createdMs(pool, publisher.id);
    if ((await lastSessionBefore(pool, publisher.id, firstStartMs)) === null) {
      const host = /^(0\.0\.0\.0|::)$/.test(config.host) ? '127.0.0.1' : config.host;
      const call = callOwnApi(`http://${host.includes(':') ? `[${host}]` : host}:${config.port}`);
      const offers = activeOffers(publisher);
      const campaignStartMs = firstStartMs - (historyDays + 1) * dayMs;
      const areas = { call, publisher, offers, nowMs: firstStartMs, campaignStartMs, logger };
      const key = await fillAreas(areas);
      const startMs = firstStartMs - (historyDays - 2) * dayMs;
      await backdateExperiment(pool, { publisherId: publisher.id, key, startMs });
      await catalog.refresh();
    }
    await writeHistory({ ...deps, now: () => firstStartMs });
  } finally {
    // Closes the connection, which releases the lock.
    lock.release(true);
  }
}
