import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';
import { listen } from '../platform/db/listen.ts';
import { type Executor, readTransaction } from '../platform/db/pool.ts';
import type { ServerUrl } from '../platform/db/servers.ts';
import { type ExchangeRates, exchangeRatesOf, type RateRow } from '../platform/exchange-rates.ts';
import { type Pause, runInSlices } from '../platform/lib/slices.ts';
import type { Logger } from '../platform/logger.ts';
import { toCampaign, toExperiment, toKey, toOffer, toPublisher, toSequenceRule } from './snapshot/convert.ts';
import { loadRows, loadVersion, type Stored } from './snapshot/load.ts';
import type { CampaignRow, CatalogRows, CreativeRow, OfferRow } from './snapshot/rows.ts';
import type { BuildIndex, Offer, Publisher, Snapshot } from './types.ts';

/** Provides the current snapshot. A request calls `current()` once and then uses the same snapshot throughout. */
export type CatalogStore = {
  current: () => Snapshot;
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
};

/** Loads the catalogue and keeps it up to date, by listening for NOTIFY and by polling the version every 500 ms. */
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
    logger.debug({ version: snapshot.version, offers: snapshot.offers.size }, 'catalogue snapshot replaced');
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
    void refresh().catch((err) => logger.warn({ err }, 'catalogue refresh failed; the previous snapshot stays in use'));
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
 * Loads a consistent snapshot of the configuration.
 * @param base earlier snapshot; campaigns that have not changed since then are shared with it instead of being loaded
 * again
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
 * Returns a permanent ID for the configuration state from which a snapshot was loaded. The version alone is not unique:
 * after a failover or restore, the same number may be used for different changes. The ID therefore includes a digest of
 * the database source.
 */
export const stateIdOf = (snapshot: Snapshot): string => storedOf(snapshot).stateId;

/** Returns the rows from which a loaded snapshot was built. */
export const rowsOf = (snapshot: Snapshot): CatalogRows => storedOf(snapshot).rows;

/**
 * Registers the gauges for this process's snapshot. If several processes listen on the same port, the gauges describe
 * the most outdated snapshot.
 */
export function registerCatalogMetrics(
  registry: Registry,
  { current, confirmedAtMs }: { current: () => Snapshot; confirmedAtMs: () => number },
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

/** Earlier snapshot, with the campaigns whose rows may have changed since. */
type Base = { snapshot: Snapshot; changed: ReadonlySet<number> };

export type BuildOptions = {
  rows: CatalogRows;
  buildIndex: BuildIndex;
  /** Earlier snapshot from which unchanged campaigns, offers and indexes are reused. */
  base?: Base | null;
  pause?: Pause;
};

/**
 * Builds an immutable snapshot from rows. Building 10,000 offers takes most of a second, so the work is split into
 * slices of a few milliseconds to avoid blocking requests.
 */
export async function buildSnapshot({ rows, buildIndex, base = null, pause }: BuildOptions): Promise<Snapshot> {
  const { offers, provisioned } = await runInSlices(buildOffers(rows, base), pause);
  const publishers = await runInSlices(buildPublishers(rows, provisioned, buildIndex, base), pause);
  return {
    version: rows.version,
    publishers,
    publishersBySdkId: new Map([...publishers.values()].map((publisher) => [publisher.sdkId, publisher])),
    keys: new Map(rows.keys.map((row) => [row.key_hash, toKey(row)])),
    offers,
  };
}

/** Number of campaigns to build before yielding to other requests. */
const sliceSize = 200;

type Offers = {
  offers: Map<number, Offer>;
  /** Offers by the publisher to which they are provisioned. Removed offers are left out. */
  provisioned: Map<number, Offer[]>;
};

function* buildOffers(rows: CatalogRows, base: Base | null): Generator<void, Offers> {
  const earlier = base === null ? null : groupBy([...base.snapshot.offers.values()], ({ campaign }) => campaign.id);
  yield;
  const build = yield* campaignBuilder(rows, base);
  const offers = new Map<number, Offer>();
  const provisioned = new Map<number, Offer[]>();
  const removed = new Set(rows.offers.filter((row) => row.deleted_at !== null).map(({ id }) => id));
  for (const [done, row] of rows.campaigns.entries()) {
    if (done % sliceSize === 0) yield;
    const isUnchanged = base !== null && !base.changed.has(row.id);
    for (const offer of isUnchanged ? (earlier?.get(row.id) ?? []) : build(row)) {
      offers.set(offer.id, offer);
      if (row.deleted_at !== null || removed.has(offer.id)) continue;
      for (const publisherId of offer.campaign.provisions.keys()) appendTo(provisioned, publisherId, offer);
    }
  }
  return { offers, provisioned };
}

/**
 * Groups the rows of changed campaigns.
 * @returns a function that builds the offers of a campaign
 */
function* campaignBuilder(rows: CatalogRows, base: Base | null): Generator<void, (row: CampaignRow) => Offer[]> {
  const mayDiffer = (campaignId: number): boolean => base === null || base.changed.has(campaignId);
  const offerRows = rows.offers.filter((row) => mayDiffer(row.campaign_id));
  const offerIds = new Set(offerRows.map(({ id }) => id));
  const offersByCampaign = groupBy(offerRows, (row) => row.campaign_id);
  yield;
  const creativesByOffer = groupBy(
    rows.creatives.filter((row) => offerIds.has(row.offer_id)),
    (row) => row.offer_id,
  );
  yield;
  const provisionsByCampaign = groupBy(
    rows.provisions.filter((row) => mayDiffer(row.campaign_id)),
    (row) => row.campaign_id,
  );
  return (row) => {
    const ownOffers = offersByCampaign.get(row.id) ?? [];
    const creativesOf = ({ id }: OfferRow): CreativeRow[] => creativesByOffer.get(id) ?? [];
    const campaign = toCampaign(row, ownOffers.flatMap(creativesOf), provisionsByCampaign.get(row.id) ?? []);
    return ownOffers.map((offer) => toOffer(offer, campaign, creativesOf(offer)));
  };
}

function* buildPublishers(
  rows: CatalogRows,
  provisioned: ReadonlyMap<number, Offer[]>,
  buildIndex: BuildIndex,
  base: Base | null,
): Generator<void, Map<number, Publisher>> {
  const themes = groupBy(rows.themes, (row) => row.publisher_id);
  const placements = groupBy(rows.placements, (row) => row.publisher_id);
  const audiences = groupBy(rows.audiences ?? [], (row) => row.publisher_id);
  const exchangeRates = groupBy(rows.exchangeRates ?? [], (row) => row.publisher_id);
  const sequenceRules = groupBy(rows.sequenceRules, (row) => row.publisher_id);
  const experiments = groupBy(rows.experiments ?? [], (row) => row.publisher_id);
  const timeZones = new Map(rows.publishers.map((row) => [row.id, row.time_zone]));
  const timeZoneOf = (publisherId: number): string => timeZones.get(publisherId) ?? 'UTC';
  const earlier = base !== null && hasTimeZones(base.snapshot.publishers, timeZones) ? base.snapshot.publishers : null;
  const publishers = new Map<number, Publisher>();
  for (const row of rows.publishers) {
    const before = base?.snapshot.publishers.get(row.id) ?? null;
    const publisher = toPublisher(
      row,
      themes.get(row.id) ?? [],
      placements.get(row.id) ?? [],
      audiences.get(row.id) ?? [],
      exchangeRates.get(row.id) ?? [],
      before,
    );
    const offers = provisioned.get(row.id) ?? [];
    const isSame = before?.controls === publisher.controls && before?.language.key === publisher.language.key;
    const index = isSame ? earlier?.get(row.id)?.index : undefined;
    publishers.set(row.id, {
      ...publisher,
      index:
        index !== undefined && isSameList(index.offers, offers)
          ? index
          : yield* buildIndex({ publisher, offers, timeZoneOf }),
      sequenceRules: (sequenceRules.get(row.id) ?? []).map(toSequenceRule),
      experiments: experiments.get(row.id)?.map(toExperiment) ?? null,
    });
  }
  return publishers;
}

/**
 * Whether the time zones of all publishers are unchanged. If not, indexes cannot be reused, because campaign caps use
 * the time zone of the campaign's owner.
 */
const hasTimeZones = (publishers: ReadonlyMap<number, Publisher>, timeZones: ReadonlyMap<number, string>): boolean =>
  publishers.size === timeZones.size &&
  [...publishers.values()].every(({ id, timeZone }) => timeZones.get(id) === timeZone);

const isSameList = (a: readonly Offer[], b: readonly Offer[]): boolean =>
  a.length === b.length && a.every((offer, at) => offer === b[at]);

function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => number): Map<number, Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) appendTo(groups, keyOf(row), row);
  return groups;
}

function appendTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
