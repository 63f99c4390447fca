import { hash } from 'node:crypto';
import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';
import { listen } from '../platform/db/listen.ts';
import { readTransaction } from '../platform/db/pool.ts';
import type { ServerUrl } from '../platform/db/servers.ts';
import type { Logger } from '../platform/logger.ts';
import { buildSnapshot } from './build-snapshot.ts';
import { loadRows, loadVersion, type Stored } from './snapshot/load.ts';
import type { CatalogRows } from './snapshot-rows.ts';
import type { BuildIndex, Snapshot } from './types.ts';

/** Keeps the current snapshot up to date. A request calls `current()` once and uses that object to its end. */
export type CatalogStore = {
  current: () => Snapshot;
  /** When the current snapshot was last confirmed to be the newest (epoch milliseconds). */
  confirmedAtMs: () => number;
  /** Reloads the configuration if it has changed, for callers that changed it. */
  refresh: () => Promise<void>;
  stop: () => Promise<void>;
};

/** Interval of the version poll, which finds changes whose notification was lost (milliseconds). */
export const pollMs = 500;

type CatalogStoreOptions = {
  pool: pg.Pool;
  databaseUrl: ServerUrl;
  logger: Logger;
  buildIndex: BuildIndex;
  now: () => number;
};

/** Loads the catalogue and follows its changes by NOTIFY, and by polling its version every 500 ms. */
export async function startCatalogStore(options: CatalogStoreOptions): Promise<CatalogStore> {
  const { pool, databaseUrl, logger, buildIndex, now } = options;
  let confirmedAtMs = now();
  let snapshot = await loadSnapshot(pool, buildIndex);
  let refreshing: Promise<void> | null = null;
  let isStale = false;
  let stopped = false;

  async function refreshOnce(): Promise<void> {
    const askedAtMs = now();
    const { version, source } = await loadVersion(pool);
    const isNewest = version === snapshot.version && source === storedOf(snapshot).source;
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
 * Loads the configuration at one instant.
 * @param base an earlier snapshot; campaigns unchanged since then are shared with it instead of read again
 */
export async function loadSnapshot(
  pool: pg.Pool,
  buildIndex: BuildIndex,
  base: Snapshot | null = null,
): Promise<Snapshot> {
  const { rows, source, changed } = await readTransaction(pool, (executor) =>
    loadRows(executor, base === null ? null : storedOf(base)),
  );
  const snapshot = await buildSnapshot({
    rows,
    buildIndex,
    base: base === null || changed === null ? null : { snapshot: base, changed },
  });
  const sourceMark = hash('sha256', source, 'base64url').slice(0, 8);
  storedBySnapshot.set(snapshot, { rows, source, stateId: `catalog ${rows.version} ${sourceMark}` });
  return snapshot;
}

type Loaded = Stored & { stateId: string };

const storedBySnapshot = new WeakMap<Snapshot, Loaded>();

function storedOf(snapshot: Snapshot): Loaded {
  const stored = storedBySnapshot.get(snapshot);
  if (stored === undefined) throw new Error('the snapshot was not loaded from the database');
  return stored;
}

/**
 * Permanent id of the state of the configuration that a snapshot was loaded with. The version is not enough: after a
 * failover or restore, the same number may be used for other changes. A digest of the source tells them apart.
 */
export const stateIdOf = (snapshot: Snapshot): string => storedOf(snapshot).stateId;

/** Rows that a loaded snapshot was built from. */
export const rowsOf = (snapshot: Snapshot): CatalogRows => storedOf(snapshot).rows;

/** Registers gauges of this process's snapshot. Of several processes on one port, the most outdated is reported. */
export function registerCatalogMetrics(
  registry: Registry,
  { current, confirmedAtMs }: { current: () => Snapshot; confirmedAtMs: () => number },
  now: () => number,
): void {
  const registers = [registry];
  new Gauge({
    name: 'perkwire_catalog_version',
    help: 'Version of the catalogue that is served; it grows with every change.',
    registers,
    aggregator: 'min',
    collect() {
      this.set(current().version);
    },
  });
  new Gauge({
    name: 'perkwire_catalog_snapshot_age_seconds',
    help: 'Time since the snapshot that is served was last known to be the newest.',
    registers,
    aggregator: 'max',
    collect() {
      this.set(Math.max(0, now() - confirmedAtMs()) / 1000);
    },
  });
  new Gauge({
    name: 'perkwire_catalog_offers',
    help: 'Offers in the snapshot, paused and recently removed ones included.',
    registers,
    aggregator: 'min',
    collect() {
      this.set(current().offers.size);
    },
  });
}
