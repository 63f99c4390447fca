import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { FailFast } from '../platform/db/health.ts';
import { listen } from '../platform/db/listen.ts';
import { type Executor, readTransaction } from '../platform/db/pool.ts';
import type { ServerUrl } from '../platform/db/servers.ts';
import { type ExchangeRates, exchangeRatesOf, type RateRow } from '../platform/exchange-rates.ts';
import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { type Pause, runInSlices } from '../platform/lib/slices.ts';
import type { Logger } from '../platform/logger.ts';
import { type Base, type BuiltOffers, buildOffers, buildPublishers, groupByPublisher } from './snapshot/build.ts';
import { toKey } from './snapshot/convert.ts';
import { findCheckedCampaigns, loadCampaigns, loadRows, loadVersion, type Stored } from './snapshot/load.ts';
import {
  appendRows,
  carryUse,
  createOnDemand,
  loadedPublishers,
  notLoaded,
  type Residence,
  readAddition,
  rowsOfCampaigns,
  sortRows,
} from './snapshot/on-demand.ts';
import { rowsOfPublisher } from './snapshot/publisher-rows.ts';
import type { CatalogRows } from './snapshot/rows.ts';
import type { BuildIndex, Offer, OfferIndex, Publisher, Snapshot } from './types.ts';

/** Provides the current snapshot. A request calls `current()` once and then uses the same snapshot throughout. */
export type CatalogStore = {
  current: () => Snapshot;
  /**
   * Loads the campaigns of a publisher if necessary, and marks the publisher as used. Call it before using the
   * publisher's offers.
   * @returns null if the current snapshot contains them, so that callers continue without waiting
   * @throws AppError unavailable, by rejecting the promise
   */
  ready: (publisherId: number) => Promise<void> | null;
  /**
   * Returns a snapshot that contains all campaigns that background jobs check, regardless of which publishers are
   * loaded: campaigns with total caps, goals, an end or coupon codes. If publishers are loaded on first use, it
   * contains no images and little copy, and it can be up to a minute old.
   */
  checked: () => Promise<Snapshot>;
  /** Loads the campaigns of several publishers. */
  readyAll: (publisherIds: Iterable<number>) => Promise<void>;
  /** Returns the number and memory of publishers loaded on first use, or null if all publishers stay loaded. */
  residence: () => Residence | null;
  /** Time at which the snapshot was last known to be up to date, in epoch milliseconds. */
  confirmedAtMs: () => number;
  /** Reloads the configuration if it has changed. Callers use it after changing the configuration themselves. */
  refresh: () => Promise<void>;
  stop: () => Promise<void>;
};

/**
 * Interval for polling the configuration version, in milliseconds. Polling detects changes whose notification was lost.
 */
const pollMs = 500;

type CatalogStoreOptions = {
  pool: pg.Pool;
  databaseUrl: ServerUrl;
  logger: Logger;
  buildIndex: BuildIndex;
  now: () => number;
  /** Memory limit for publishers that are loaded on first use, in bytes. If absent, all publishers stay loaded. */
  limitBytes?: number | null;
  failFast?: FailFast;
};

/** Loads the catalogue and keeps it up to date, by listening for NOTIFY and by polling the version every 500 ms. */
export async function startCatalogStore(options: CatalogStoreOptions): Promise<CatalogStore> {
  const { pool, databaseUrl, logger, buildIndex, now, limitBytes = null, failFast = (work) => work() } = options;
  const isOnDemand = limitBytes !== null;
  let confirmedAtMs = now();
  let snapshot = await loadSnapshot(pool, buildIndex, { isOnDemand, nowMs: now() });
  let refreshing: Promise<void> | null = null;
  let isStale = false;
  let stopped = false;

  async function refreshOnce(): Promise<void> {
    const askedAtMs = now();
    const { version, source } = await loadVersion(pool);
    const stored = storedOf(snapshot);
    const isNewest = version === snapshot.version && source === stored.source;
    if (isNewest && askedAtMs < stored.ends.nextMs) {
      confirmedAtMs = askedAtMs;
      return;
    }
    const next = await loadSnapshot(pool, buildIndex, { base: snapshot, isOnDemand, nowMs: askedAtMs });
    if (isOnDemand) carryUse(snapshot, next);
    snapshot = next;
    confirmedAtMs = askedAtMs;
    logger.debug({ version: snapshot.version, offers: snapshot.offers.size }, 'catalogue snapshot replaced');
  }

  const onDemand = isOnDemand
    ? createOnDemand({
        limitBytes,
        now,
        logger,
        failFast,
        current: () => snapshot,
        replace: (next) => {
          snapshot = next;
        },
        refresh: refreshOnce,
        extend: (publisherIds) => extendSnapshot(pool, buildIndex, snapshot, publisherIds),
        without: withoutPublishers,
      })
    : null;

  function refresh(): Promise<void> {
    if (refreshing !== null) {
      isStale = true;
      return refreshing;
    }
    refreshing = (async () => {
      do {
        isStale = false;
        await (onDemand === null ? refreshOnce() : onDemand.inTurn(refreshOnce));
      } while (isStale && !stopped);
    })().finally(() => {
      refreshing = null;
    });
    return refreshing;
  }

  const refreshInBackground = (): void =>
    void refresh().catch((err) => logger.warn({ err }, 'catalogue refresh failed; the previous snapshot stays in use'));
  const unlisten = listen(databaseUrl, 'perkwire_catalog', refreshInBackground);
  const timer = setInterval(refreshInBackground, pollMs);
  const ready = onDemand === null ? () => null : onDemand.ready;
  const findChecked = createCheckedSource(pool, now);
  return {
    current: () => snapshot,
    ready,
    readyAll: async (publisherIds) => void (await Promise.all([...new Set(publisherIds)].map(ready))),
    checked: async () => (isOnDemand ? findChecked(snapshot) : snapshot),
    residence: () => onDemand?.residence() ?? null,
    confirmedAtMs: () => confirmedAtMs,
    refresh,
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      await unlisten();
      await refreshing?.catch(() => {});
      await onDemand?.stop();
    },
  };
}

/**
 * Loads a consistent snapshot of the configuration.
 * @param base earlier snapshot; campaigns that have not changed since then are shared with it instead of being loaded
 * again
 * @param isOnDemand whether to load only the campaigns of publishers that are loaded in the base
 * @param nowMs current time; block rules that have ended are left out
 */
export async function loadSnapshot(
  pool: pg.Pool,
  buildIndex: BuildIndex,
  { base = null, isOnDemand = false, nowMs }: { base?: Snapshot | null; isOnDemand?: boolean; nowMs: number },
): Promise<Snapshot> {
  const stored = base === null ? null : storedOf(base);
  const loadedIds = isOnDemand ? (base === null ? [] : loadedPublishers(base).map(({ id }) => id)) : null;
  if (stored !== null) sortRows(stored.rows);
  const { rows, source, ends, changed } = await readTransaction(pool, (executor) =>
    loadRows(executor, stored, loadedIds, nowMs),
  );
  const isLoaded = loadedIds === null ? undefined : isOneOf(new Set(loadedIds));
  const { snapshot, present } = await buildAll({
    rows,
    buildIndex,
    base: base === null || changed === null ? null : { snapshot: base, changed },
    isLoaded,
  });
  const sourceMark = hash('sha256', source, 'base64url').slice(0, 8);
  // All processes reach the same states of a version, because rules end one after the other.
  const ended = [...ends.ended.values()].reduce((sum, count) => sum + count, 0);
  const stateId = `catalog ${rows.version} ${sourceMark}${ended === 0 ? '' : ` ended ${ended}`}`;
  storedBySnapshot.set(snapshot, { rows, source, ends, stateId, present: isOnDemand ? present : null });
  return snapshot;
}

/** Whether the campaigns of a publisher are loaded (see `CatalogStore.ready`). */
export const isLoaded = ({ index }: Publisher): boolean => index !== notLoaded;

const isOneOf =
  (ids: ReadonlySet<number>) =>
  (id: number): boolean =>
    ids.has(id);

/** Rows of a snapshot. `present` is set if publishers are loaded on first use: see `BuiltOffers`. */
type Loaded = Stored & { stateId: string; present: BuiltOffers['present'] | null };

const storedBySnapshot = new WeakMap<Snapshot, Loaded>();

function storedOf(snapshot: Snapshot): Loaded {
  const stored = storedBySnapshot.get(snapshot);
  if (stored === undefined) throw new Error('the snapshot was not loaded from the database');
  return stored;
}

/**
 * Adds the campaigns of publishers to a snapshot, which stays at its version. Requests that already use the snapshot
 * are not affected, because they use only publishers that are already loaded.
 * @returns false if the database has another version; nothing was added
 */
async function extendSnapshot(
  pool: pg.Pool,
  buildIndex: BuildIndex,
  snapshot: Snapshot,
  publisherIds: readonly number[],
): Promise<boolean> {
  const stored = storedOf(snapshot);
  const present = stored.present as Map<number, readonly Offer[]>;
  const isKnown = (campaignId: number): boolean => present.has(campaignId);
  const addition = await readAddition(pool, publisherIds, { ...stored, version: snapshot.version, isKnown });
  if (addition === null) return false;
  const { rows, campaignIds } = addition;
  const built = await runInSlices(buildOffers(rows, null));
  const presentOf = (id: number): readonly Offer[] => built.present.get(id) ?? present.get(id) ?? [];
  const timeZoneOf = (id: number): string => snapshot.publishers.get(id)?.timeZone ?? 'UTC';
  const indexes = new Map<Publisher, OfferIndex>();
  const added = new Map(campaignIds.map((id) => [id, presentOf(id)]));
  const provisioned = await runInSlices(groupByPublisher(added, isOneOf(new Set(publisherIds))));
  for (const id of publisherIds) {
    const publisher = snapshot.publishers.get(id) as Publisher;
    const offers = provisioned.get(id) ?? [];
    indexes.set(publisher, await runInSlices(buildIndex({ publisher, offers, timeZoneOf })));
  }
  // The rest runs without a pause, so that no request sees only a part of the addition.
  for (const [id, offer] of built.offers) (snapshot.offers as Map<number, Offer>).set(id, offer);
  const offersByCampaign = snapshot.offersByCampaign as Map<number, readonly Offer[]>;
  for (const [id, offers] of built.byCampaign) offersByCampaign.set(id, offers);
  for (const [id, offers] of built.present) present.set(id, offers);
  appendRows(stored.rows, rows);
  for (const [publisher, index] of indexes) {
    index.isUsed = true;
    publisher.index = index;
  }
  return true;
}

/** Returns a snapshot without the campaigns that only the given publishers use. The original is not changed. */
function withoutPublishers(snapshot: Snapshot, publisherIds: ReadonlySet<number>): Snapshot {
  const stored = storedOf(snapshot);
  const publishers = new Map<number, Publisher>();
  for (const [id, publisher] of snapshot.publishers)
    publishers.set(id, publisherIds.has(id) ? { ...publisher, index: notLoaded } : publisher);
  const isLoaded = (id: number): boolean => (publishers.get(id)?.index ?? notLoaded) !== notLoaded;
  const provisions = groupProvisions(stored.rows);
  const retained = new Set<number>();
  for (const { id, publisher_id: ownerId } of stored.rows.campaigns)
    if (isLoaded(ownerId) || provisions.get(id)?.some(isLoaded) === true) retained.add(id);
  const isRetained = isOneOf(retained);
  const next: Snapshot = {
    ...snapshot,
    publishers,
    publishersBySdkId: new Map([...publishers.values()].map((publisher) => [publisher.sdkId, publisher])),
    offers: new Map([...snapshot.offers].filter(([, { campaign }]) => retained.has(campaign.id))),
    offersByCampaign: new Map([...snapshot.offersByCampaign].filter(([id]) => retained.has(id))),
  };
  storedBySnapshot.set(next, {
    ...stored,
    rows: { ...stored.rows, ...rowsOfCampaigns(stored.rows, isRetained) },
    present: new Map([...(stored.present ?? [])].filter(([id]) => retained.has(id))),
  });
  return next;
}

function groupProvisions({ provisions }: CatalogRows): Map<number, number[]> {
  const publisherIds = new Map<number, number[]>();
  for (const row of provisions) getOrInsert(publisherIds, row.campaign_id, () => []).push(row.publisher_id);
  return publisherIds;
}

/** Time before the checked campaigns are read again: a multiple of the time that a read took, up to a maximum in ms. */
const [restPerRead, maxRestMs] = [20, 60_000];

/** Creates a source of the campaigns that background jobs check, for processes that load publishers on first use. */
function createCheckedSource(pool: pg.Pool, now: () => number): (snapshot: Snapshot) => Promise<Snapshot> {
  let last: { stateId: string; built: BuiltOffers; dueMs: number } | null = null;
  let reading: Promise<void> | null = null;

  async function read(snapshot: Snapshot): Promise<void> {
    const startMs = performance.now();
    const rows = await readTransaction(pool, async (executor) =>
      loadCampaigns(executor, await findCheckedCampaigns(executor), { isBrief: true }),
    );
    const built = await runInSlices(buildOffers(rows, null));
    const restMs = Math.min(maxRestMs, restPerRead * (performance.now() - startMs));
    last = { stateId: stateIdOf(snapshot), built, dueMs: now() + restMs };
  }

  return async (snapshot) => {
    const isCurrent = last !== null && (last.stateId === stateIdOf(snapshot) || now() < last.dueMs);
    if (!isCurrent) {
      reading ??= read(snapshot).finally(() => {
        reading = null;
      });
      await reading;
    }
    return last === null
      ? snapshot
      : { ...snapshot, offers: last.built.offers, offersByCampaign: last.built.byCampaign };
  };
}

/**
 * Returns a permanent ID for the configuration state from which a snapshot was loaded. The version alone is not unique:
 * after a failover or restore, the same number may be used for different changes. The ID therefore includes a digest of
 * the database source.
 */
const stateIdOf = (snapshot: Snapshot): string => storedOf(snapshot).stateId;

/** Returns the rows from which a loaded snapshot was built. */
export const rowsOf = (snapshot: Snapshot): CatalogRows => storedOf(snapshot).rows;

/** Configuration state of a publisher: its ID, number of offers and rows. */
type CatalogState = { id: string; offers: number; rows: () => CatalogRows };

const stateIds = new WeakMap<Publisher, string>();

/**
 * Returns the configuration state with which a publisher's decisions are made: its permanent ID and its rows. The ID
 * stays the same until the publisher's settings or campaigns change.
 */
export function stateOf(snapshot: Snapshot, publisher: Publisher): CatalogState {
  const { stateId, rows } = storedOf(snapshot);
  const id = stateIds.get(publisher) ?? `${stateId} ${publisher.id}`;
  stateIds.set(publisher, id);
  return {
    id,
    offers: publisher.index.offers.length,
    rows: () => rowsOfPublisher(rows, publisher, snapshot.offersByCampaign),
  };
}

/**
 * Registers the gauges for this process's snapshot. If several processes listen on the same port, the gauges describe
 * the most outdated snapshot.
 */
export function registerCatalogMetrics(
  registry: Registry,
  { current, confirmedAtMs, residence }: CatalogStore,
  now: () => number,
): void {
  const registers = [registry];
  new Gauge({
    name: 'perkwire_catalog_version',
    help: 'Version of the catalogue snapshot in use. Increases with every change.',
    registers,
    aggregator: 'min',
    collect() {
      this.set(current().version);
    },
  });
  new Gauge({
    name: 'perkwire_catalog_snapshot_age_seconds',
    help: 'Seconds since the catalogue snapshot in use was last confirmed to be current.',
    registers,
    aggregator: 'max',
    collect() {
      this.set(Math.max(0, now() - confirmedAtMs()) / 1000);
    },
  });
  new Gauge({
    name: 'perkwire_catalog_offers',
    help: 'Number of offers in the catalogue snapshot, including paused and recently removed offers.',
    registers,
    aggregator: 'min',
    collect() {
      this.set(current().offers.size);
    },
  });
  new Gauge({
    name: 'perkwire_catalog_loaded_publishers',
    help: 'Number of publishers whose campaigns are in memory.',
    registers,
    aggregator: 'sum',
    collect() {
      this.set(residence()?.publishers ?? current().publishers.size);
    },
  });
  new Gauge({
    name: 'perkwire_catalog_memory_bytes',
    help: 'Estimated memory of publishers that are loaded on first use, in bytes. 0 without CATALOGUE_MEMORY_MB.',
    registers,
    aggregator: 'sum',
    collect() {
      this.set(residence()?.bytes ?? 0);
    },
  });
  for (const [name, help] of [
    ['loads', 'Number of publishers that were loaded on first use.'],
    ['drops', 'Number of publishers that were dropped from memory.'],
  ] as const)
    new Counter({
      name: `perkwire_catalog_${name}_total`,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(residence()?.[name] ?? 0);
      },
    });
}

/**
 * Marks a publisher as storing user attributes.
 * @returns whether the publisher was not yet marked
 */
export async function keepAttributes(executor: Executor, publisherId: number): Promise<boolean> {
  const { rowCount } = await executor.query(
    'update publishers set keeps_attributes = true where id = $1 and not keeps_attributes',
    [publisherId],
  );
  return rowCount === 1;
}

/** Waits until every process has loaded the change. This is needed only once per publisher. */
export const readEverywhere = (): Promise<void> => sleep(2 * pollMs);

/** Loads all exchange rates of a publisher, including past ones, which the snapshot does not contain. */
export async function loadExchangeRates(executor: Executor, publisherId: number): Promise<ExchangeRates> {
  const { rows } = await executor.query<RateRow & { base: string | null }>({
    name: 'load_exchange_rates',
    text: `select p.rates_base as base, r.currency, r.valid_from::text as valid_from, trim_scale(r.rate)::text as rate
    from publishers p join exchange_rates r on r.publisher_id = p.id where p.id = $1`,
    values: [publisherId],
  });
  return exchangeRatesOf(rows[0]?.base ?? null, rows);
}

export type BuildOptions = {
  rows: CatalogRows;
  buildIndex: BuildIndex;
  /** Earlier snapshot from which unchanged campaigns, offers and indexes are reused. */
  base?: Base | null;
  /** Returns whether the campaigns of a publisher are among the rows. By default, those of all publishers are. */
  isLoaded?: ((publisherId: number) => boolean) | undefined;
  pause?: Pause;
};

/**
 * Builds an immutable snapshot from rows. Building 10,000 offers takes most of a second, so the work is split into
 * slices of a few milliseconds to avoid blocking requests.
 */
export const buildSnapshot = async (options: BuildOptions): Promise<Snapshot> => (await buildAll(options)).snapshot;

async function buildAll({
  rows,
  buildIndex,
  base = null,
  isLoaded = () => true,
  pause,
}: BuildOptions): Promise<{ snapshot: Snapshot; present: BuiltOffers['present'] }> {
  const { offers, byCampaign, present } = await runInSlices(buildOffers(rows, base), pause);
  const provisioned = await runInSlices(groupByPublisher(present, isLoaded), pause);
  const publishers = await runInSlices(buildPublishers({ rows, provisioned, buildIndex, base, isLoaded }), pause);
  const snapshot = {
    version: rows.version,
    publishers,
    publishersBySdkId: new Map([...publishers.values()].map((publisher) => [publisher.sdkId, publisher])),
    keys:
      base?.changed.publishers.size === 0
        ? base.snapshot.keys
        : new Map(rows.keys.map((row) => [row.key_hash, toKey(row)])),
    offers,
    offersByCampaign: byCampaign,
  };
  return { snapshot, present };
}
