import type pg from 'pg';

import { listen } from '../../platform/db/listen.ts';
import { transaction } from '../../platform/db/pool.ts';
import type { Logger } from '../../platform/logger.ts';
import { buildSnapshot } from './build.ts';
import { loadRows, loadVersion } from './load.ts';
import type { CatalogRows } from './rows.ts';
import type { Snapshot } from './types.ts';

/** The current snapshot, kept fresh. A request takes `current()` once and works with that object to its end. */
export type CatalogStore = {
  current: () => Snapshot;
  /** Loads again now if the configuration has changed; for whoever just changed it. */
  refresh: () => Promise<void>;
  stop: () => Promise<void>;
};

/** The safety net behind NOTIFY (milliseconds). */
const pollMs = 500;

type CatalogStoreOptions = { pool: pg.Pool; databaseUrl: string; logger: Logger };

/** Loads the catalogue and follows its changes: NOTIFY wakes, a version poll each 500 ms is the safety net. */
export async function startCatalogStore({ pool, databaseUrl, logger }: CatalogStoreOptions): Promise<CatalogStore> {
  let snapshot = await loadSnapshot(pool);
  let refreshing: Promise<void> | null = null;
  let again = false;
  let stopped = false;

  async function refreshOnce(): Promise<void> {
    if ((await loadVersion(pool)) === snapshot.version) return;
    snapshot = await loadSnapshot(pool, snapshot);
    logger.debug({ version: snapshot.version, offers: snapshot.offers.size }, 'catalogue replaced');
  }

  function refresh(): Promise<void> {
    if (refreshing !== null) {
      again = true;
      return refreshing;
    }
    refreshing = (async () => {
      do {
        again = false;
        await refreshOnce();
      } while (again && !stopped);
    })().finally(() => {
      refreshing = null;
    });
    return refreshing;
  }

  const quietly = (): void =>
    void refresh().catch((err) => logger.warn({ err }, 'catalogue refresh failed; the last one stays in use'));
  const unlisten = listen(databaseUrl, 'perkwire_catalog', quietly);
  const timer = setInterval(quietly, pollMs);
  return {
    current: () => snapshot,
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
 * The configuration as it is in one instant.
 * @param base one loaded before: campaigns that have not changed since then are neither read nor built anew, but
 *   shared with it
 */
export async function loadSnapshot(pool: pg.Pool, base: Snapshot | null = null): Promise<Snapshot> {
  const { rows, changed } = await transaction(pool, async (executor) => {
    await executor.query('set transaction isolation level repeatable read, read only');
    return loadRows(executor, base === null ? null : rowsOf(base));
  });
  const snapshot = await buildSnapshot(rows, base === null || changed === null ? null : { snapshot: base, changed });
  rowsBySnapshot.set(snapshot, rows);
  return snapshot;
}

const rowsBySnapshot = new WeakMap<Snapshot, CatalogRows>();

/** The rows that a loaded snapshot was made from. */
export function rowsOf(snapshot: Snapshot): CatalogRows {
  const rows = rowsBySnapshot.get(snapshot);
  if (rows === undefined) throw new Error('the snapshot was not loaded');
  return rows;
}
