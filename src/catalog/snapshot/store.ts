import type pg from 'pg';
import { listen } from '../../platform/db/listen.ts';
import { transaction } from '../../platform/db/pool.ts';
import type { ServerUrl } from '../../platform/db/servers.ts';
import type { Logger } from '../../platform/logger.ts';
import { buildSnapshot } from './build.ts';
import { loadRows, loadVersion } from './load.ts';
import type { CatalogRows } from './rows.ts';
import type { BuildIndex, Snapshot } from './types.ts';

/** The current snapshot, kept fresh. A request takes `current()` once and works with that object to its end. */
export type CatalogStore = {
  current: () => Snapshot;
  /** When the current snapshot was last known to be the newest (epoch milliseconds). */
  confirmedAtMs: () => number;
  /** Loads the configuration again if it has changed, for the caller that changed it. */
  refresh: () => Promise<void>;
  stop: () => Promise<void>;
};

/** Period of the version poll, which finds changes whose notification was lost (milliseconds). */
const pollMs = 500;

type CatalogStoreOptions = {
  pool: pg.Pool;
  databaseUrl: ServerUrl;
  logger: Logger;
  buildIndex: BuildIndex;
  now: () => number;
};

/** Loads the catalogue and follows its changes by NOTIFY, and by a poll of its version each 500 ms. */
export async function startCatalogStore(options: CatalogStoreOptions): Promise<CatalogStore> {
  const { pool, databaseUrl, logger, buildIndex, now } = options;
  let confirmedAtMs = now();
  let snapshot = await loadSnapshot(pool, buildIndex);
  let refreshing: Promise<void> | null = null;
  let isStale = false;
  let stopped = false;

  async function refreshOnce(): Promise<void> {
    const askedAtMs = now();
    const isNewest = (await loadVersion(pool)) === snapshot.version;
    if (!isNewest) snapshot = await loadSnapshot(pool, buildIndex, snapshot);
    confirmedAtMs = askedAtMs;
    if (isNewest) return;
    logger.debug({ version: snapshot.version, offers: snapshot.offers.size }, 'catalogue replaced');
  }

  function refresh(): Promise<void> {
    if (refreshing !== null) {
      isStale = true;
      return refreshing;
    }
    refreshing = (async () => {
      do {
        isStale = false;
        await refreshOnce();
      } while (isStale && !stopped);
    })().finally(() => {
      refreshing = null;
    });
    return refreshing;
  }

  const refreshInBackground = (): void =>
    void refresh().catch((err) => logger.warn({ err }, 'catalogue refresh failed; the previous one stays in use'));
  const unlisten = listen(databaseUrl, 'perkwire_catalog', refreshInBackground);
  const timer = setInterval(refreshInBackground, pollMs);
  return {
    current: () => snapshot,
    confirmedAtMs: () => confirmedAtMs,
    refresh,
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      await unlisten();
      await refreshing?.catch(() => {});
    },
  };
}

/**
 * The configuration at one instant.
 * @param base an earlier snapshot: campaigns unchanged since then are neither read nor built again, but shared with it
 */
export async function loadSnapshot(
  pool: pg.Pool,
  buildIndex: BuildIndex,
  base: Snapshot | null = null,
): Promise<Snapshot> {
  const { rows, changed } = await transaction(pool, async (executor) => {
    await executor.query('set transaction isolation level repeatable read, read only');
    return loadRows(executor, base === null ? null : rowsOf(base));
  });
  const snapshot = await buildSnapshot({
    rows,
    buildIndex,
    base: base === null || changed === null ? null : { snapshot: base, changed },
  });
  rowsBySnapshot.set(snapshot, rows);
  return snapshot;
}

const rowsBySnapshot = new WeakMap<Snapshot, CatalogRows>();

/** The rows a loaded snapshot was built from. */
export function rowsOf(snapshot: Snapshot): CatalogRows {
  const rows = rowsBySnapshot.get(snapshot);
  if (rows === undefined) throw new Error('the snapshot was not loaded from the database');
  return rows;
}
