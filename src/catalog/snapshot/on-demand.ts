import type pg from 'pg';
import type { FailFast } from '../../platform/db/health.ts';
import { readTransaction } from '../../platform/db/pool.ts';
import { databaseUnavailable } from '../../platform/errors.ts';
import { hourMs, minuteMs } from '../../platform/lib/time.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Offer, OfferIndex, Publisher, Snapshot } from '../types.ts';
import { type CampaignRows, findCampaignsOf, loadCampaigns, loadVersion } from './load.ts';
import type { CatalogRows } from './rows.ts';

/**
 * Index of a publisher whose campaigns are not loaded. Code that uses it without having loaded the publisher fails with
 * `unavailable`, so that the publisher is never mistaken for one without offers.
 */
export const notLoaded: OfferIndex = Object.freeze({
  get offers(): never {
    throw databaseUnavailable(new Error('the campaigns of the publisher are not loaded'));
  },
});

/** Returns the publishers of a snapshot whose campaigns are loaded. */
export const loadedPublishers = ({ publishers }: Snapshot): Publisher[] =>
  [...publishers.values()].filter(({ index }) => index !== notLoaded);

/**
 * Marks the publishers of a new snapshot that were used in the previous one. Called when the new snapshot replaces it,
 * so that no use is missed while the new one is being built.
 */
export function carryUse(previous: Snapshot, next: Snapshot): void {
  for (const { id, index } of loadedPublishers(next))
    if (previous.publishers.get(id)?.index.isUsed === true) index.isUsed = true;
}

/** Rows to add to a snapshot, and the IDs of all campaigns of the publishers for which they were read. */
type Addition = { rows: CampaignRows; campaignIds: readonly number[] };

/**
 * Reads the campaigns of publishers that a snapshot does not contain yet.
 * @param isKnown returns whether the snapshot contains a campaign
 * @returns null if the database has a version other than that of the snapshot
 */
export const readAddition = (
  pool: pg.Pool,
  publisherIds: readonly number[],
  { version, source, isKnown }: { version: number; source: string; isKnown: (campaignId: number) => boolean },
): Promise<Addition | null> =>
  readTransaction(pool, async (executor) => {
    const current = await loadVersion(executor);
    if (current.version !== version || current.source !== source) return null;
    const campaignIds = await findCampaignsOf(executor, publisherIds);
    const rows = await loadCampaigns(
      executor,
      campaignIds.filter((id) => !isKnown(id)),
    );
    return { rows, campaignIds };
  });

/** Lists to which rows were appended, so that they are not in order. */
const unsorted = new WeakSet<CatalogRows>();

/** Appends rows to the lists from which a snapshot was built. `sortRows` restores their order. */
export function appendRows(rows: CatalogRows, added: CampaignRows): void {
  unsorted.add(rows);
  for (const row of added.campaigns) rows.campaigns.push(row);
  for (const row of added.provisions) rows.provisions.push(row);
  for (const row of added.offers) rows.offers.push(row);
  for (const row of added.creatives) rows.creatives.push(row);
}

/** Restores the order of appended rows, if there are any. */
export function sortRows(rows: CatalogRows): void {
  if (!unsorted.delete(rows)) return;
  rows.campaigns.sort((a, b) => a.id - b.id);
  rows.provisions.sort((a, b) => a.campaign_id - b.campaign_id);
  rows.offers.sort((a, b) => a.id - b.id);
  rows.creatives.sort((a, b) => a.offer_id - b.offer_id);
}

/** Returns the rows of the given campaigns. */
export function rowsOfCampaigns(rows: CatalogRows, isIncluded: (campaignId: number) => boolean): CampaignRows {
  const offers = rows.offers.filter((row) => isIncluded(row.campaign_id));
  const offerIds = new Set(offers.map(({ id }) => id));
  return {
    campaigns: rows.campaigns.filter(({ id }) => isIncluded(id)),
    provisions: rows.provisions.filter((row) => isIncluded(row.campaign_id)),
    offers,
    creatives: rows.creatives.filter((row) => offerIds.has(row.offer_id)),
  };
}

/**
 * Estimated memory of an offer, in bytes: its rows and objects, its campaign, and the responses that are rendered for
 * it. `bench:growth` compares the estimate with the memory of the process.
 */
const bytesPer = { offer: 6500, creative: 1500, character: 4, indexEntry: 900 };

function offerBytes({ copy, termsAndConditions, translations, campaign, creatives }: Offer): number {
  let characters = termsAndConditions.length + campaign.offerDescription.length + campaign.landingUrl.length;
  for (const text of Object.values(copy)) characters += text.length;
  for (const { texts } of translations?.texts.values() ?? [])
    for (const text of Object.values(texts)) characters += text.length;
  return bytesPer.offer + bytesPer.creative * creatives.length + bytesPer.character * characters;
}

const indexBytes = ({ index }: Publisher): number => bytesPer.indexEntry * (1 + index.offers.length);

/**
 * Creates a function that estimates the memory of a snapshot's loaded campaigns, in bytes. If offers have only been
 * added since the last call, it examines only the new offers.
 */
function createEstimate(): (snapshot: Snapshot) => number {
  let last: { offers: Snapshot['offers'] | null; size: number; bytes: number } = { offers: null, size: 0, bytes: 0 };
  return (snapshot) => {
    const { offers } = snapshot;
    const start = last.offers === offers ? last : { size: 0, bytes: 0 };
    let { bytes } = start;
    let at = 0;
    if (start.size < offers.size)
      for (const offer of offers.values()) if (at++ >= start.size) bytes += offerBytes(offer);
    last = { offers, size: offers.size, bytes };
    return loadedPublishers(snapshot).reduce((sum, publisher) => sum + indexBytes(publisher), bytes);
  };
}

/** Estimates the memory that dropping a publisher frees, in bytes. Shared campaigns are not counted. */
function ownBytes(publisher: Publisher): number {
  let bytes = indexBytes(publisher);
  for (const offer of publisher.index.offers) if (offer.campaign.provisions.size <= 1) bytes += offerBytes(offer);
  return bytes;
}

/** Time after which an unused publisher is dropped, even if there is enough memory, in milliseconds. */
const maxIdleMs = hourMs;

/**
 * Time for which a publisher stays loaded after its last use, even if the memory limit is exceeded, in milliseconds. It
 * is longer than nearly all requests, so that publishers are hardly ever dropped in the middle of one, and short enough
 * to keep memory bounded if many publishers are used one after the other.
 */
const minIdleMs = 5000;

/** Share of the limit to which memory is reduced once the limit is exceeded, so that drops are rare. */
const targetShare = 0.9;

/**
 * Creates a function that chooses the publishers to drop: those that have been unused for an hour and, if the memory
 * limit is exceeded, those that were least recently used. It must be called regularly, because it also records which
 * publishers have been used since its last call.
 */
function createIdleChoice(limitBytes: number, now: () => number) {
  /** Time of the last use, in epoch milliseconds, by publisher ID. */
  let usedAtMs = new Map<number, number>();
  return (snapshot: Snapshot, bytes: number): Set<number> => {
    const nowMs = now();
    const publishers = loadedPublishers(snapshot);
    const before = usedAtMs;
    usedAtMs = new Map();
    for (const { id, index } of publishers) {
      usedAtMs.set(id, index.isUsed === true ? nowMs : (before.get(id) ?? nowMs));
      if (index.isUsed === true) index.isUsed = false;
    }
    const idleMsOf = ({ id }: Publisher): number => nowMs - (usedAtMs.get(id) ?? nowMs);
    let excess = bytes > limitBytes ? bytes - limitBytes * targetShare : 0;
    const leastMs = excess > 0 ? minIdleMs : maxIdleMs;
    const candidates = publishers.filter((publisher) => idleMsOf(publisher) >= leastMs);
    const idle = new Set<number>();
    for (const publisher of candidates.sort((a, b) => idleMsOf(b) - idleMsOf(a))) {
      if (excess <= 0 && idleMsOf(publisher) < maxIdleMs) break;
      idle.add(publisher.id);
      excess -= ownBytes(publisher);
    }
    return idle;
  };
}

/** Number of loaded publishers, their estimated memory in bytes, and the loads and drops so far. */
export type Residence = { publishers: number; bytes: number; loads: number; drops: number };

type OnDemandOptions = {
  /** Estimated memory above which publishers are dropped, in bytes. */
  limitBytes: number;
  now: () => number;
  logger: Logger;
  failFast: FailFast;
  current: () => Snapshot;
  replace: (next: Snapshot) => void;
  /** Loads the current version of the configuration. */
  refresh: () => Promise<void>;
  /**
   * Adds publishers to the current snapshot.
   * @returns false if the snapshot is no longer the latest version
   */
  extend: (publisherIds: readonly number[]) => Promise<boolean>;
  without: (snapshot: Snapshot, publisherIds: ReadonlySet<number>) => Snapshot;
};

type OnDemand = {
  /** See `CatalogStore`. */
  ready: (publisherId: number) => Promise<void> | null;
  /** Runs a function that replaces the snapshot. Only one such function runs at a time. */
  inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  residence: () => Residence;
  stop: () => Promise<void>;
};

/** Maximum number of publishers that are loaded in one transaction, and the number before their size is known. */
const maxPerLoad = 100;
const firstPerLoad = 10;

/**
 * Factor of the limit above which loads wait for publishers to become idle, and the share of the limit that one load
 * may add. Together, they keep the memory below twice the limit even if all publishers are requested at once.
 */
const maxExcess = 1.5;
const loadShare = 0.5;
/** Number of drop checks after which a load stops waiting, because the other publishers are in constant use. */
const maxWaitChecks = 7;

/** Number of attempts to load publishers while the configuration keeps changing. */
const loadAttempts = 5;

/** Interval at which idle publishers are dropped, in milliseconds. */
const dropCheckMs = 1000;

type Load = { ids: Set<number>; done: Promise<void> };

/** Loads publishers on first use, and drops them when they are idle (docs/adr/0036-load-publishers-on-first-use.md). */
export function createOnDemand(options: OnDemandOptions): OnDemand {
  const { limitBytes, now, logger, failFast, current, replace, refresh, extend, without } = options;
  const chooseIdle = createIdleChoice(limitBytes, now);
  const estimateBytes = createEstimate();
  const loading = new Map<number, Promise<void>>();
  const counts = { loads: 0, drops: 0 };
  const onCheck = new Set<() => void>();
  /** Publishers of the next load, which has not started yet. */
  let next: Load | null = null;
  let running: Promise<unknown> = Promise.resolve();
  /** Loads start one after the other, so that each one takes the memory of the previous one into account. */
  let lastLoad: Promise<unknown> = Promise.resolve();
  let perLoad = firstPerLoad;
  /** Whether the last load has waited in vain, because all publishers are in use. Later ones then hardly wait. */
  let isOverloaded = false;
  let stopped = false;
  let bytes = 0;
  let warnedAtMs = Number.NEGATIVE_INFINITY;

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = running.then(work);
    running = result.catch(() => {});
    return result;
  }

  function startLoad(): Load {
    const load: Load = { ids: new Set(), done: Promise.resolve() };
    const close = (): void => {
      if (next === load) next = null;
    };
    const loadAll = async (): Promise<void> => {
      close();
      await loadPublishers([...load.ids]);
    };
    const previous = lastLoad;
    load.done = failFast(async () => {
      await previous;
      await untilThereIsRoom();
      await inTurn(loadAll);
    }).finally(() => {
      close();
      for (const id of load.ids) loading.delete(id);
    });
    lastLoad = load.done.catch(() => {});
    return load;
  }

  /** Waits while loaded publishers exceed the limit by far and some of them may soon be idle. */
  async function untilThereIsRoom(): Promise<void> {
    const isFull = (): boolean => bytes > limitBytes * maxExcess && !stopped;
    const mostChecks = isOverloaded ? 1 : maxWaitChecks;
    for (let checks = 0; isFull() && checks < mostChecks; checks += 1)
      await new Promise<void>((resolve) => onCheck.add(resolve));
    isOverloaded = isFull();
  }

  function estimate(): void {
    bytes = estimateBytes(current());
    const { length: publishers } = loadedPublishers(current());
    if (publishers > 0) perLoad = Math.floor(Math.min(maxPerLoad, (limitBytes * loadShare * publishers) / bytes));
  }

  async function loadPublishers(publisherIds: readonly number[]): Promise<void> {
    for (let attempt = 0; attempt < loadAttempts; attempt += 1) {
      const missing = publisherIds.filter((id) => current().publishers.get(id)?.index === notLoaded);
      if (missing.length === 0) return;
      if (await extend(missing)) {
        counts.loads += missing.length;
        estimate();
        if (bytes > limitBytes) dropIdle();
        return;
      }
      await refresh();
    }
    throw databaseUnavailable(new Error('the configuration changes too often to load publishers'));
  }

  function dropIdle(): void {
    estimate();
    const idle = chooseIdle(current(), bytes);
    if (idle.size > 0) {
      replace(without(current(), idle));
      counts.drops += idle.size;
      estimate();
    }
    if (bytes <= limitBytes || now() - warnedAtMs < minuteMs) return;
    warnedAtMs = now();
    const { length: publishers } = loadedPublishers(current());
    logger.warn({ publishers, bytes, limitBytes }, 'publishers in use need more memory than CATALOGUE_MEMORY_MB');
  }

  /** Resolves the promises that wait for the next check. */
  function endCheck(): void {
    for (const resolve of onCheck) resolve();
    onCheck.clear();
  }

  const timer = setInterval(() => void inTurn(async () => dropIdle()).finally(endCheck), dropCheckMs);
  return {
    ready: (publisherId) => {
      const index = current().publishers.get(publisherId)?.index;
      if (index === undefined) return null;
      if (index !== notLoaded) {
        index.isUsed = true;
        return null;
      }
      const underWay = loading.get(publisherId);
      if (underWay !== undefined) return underWay;
      if (next === null || next.ids.size >= perLoad) next = startLoad();
      next.ids.add(publisherId);
      loading.set(publisherId, next.done);
      return next.done;
    },
    inTurn,
    residence: () => ({ publishers: loadedPublishers(current()).length, bytes, ...counts }),
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      endCheck();
      await running;
    },
  };
}
