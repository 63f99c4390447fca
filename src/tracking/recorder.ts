import type pg from 'pg';
import { rulesOf } from '../catalog/event-kinds.ts';
import type { CatalogStore } from '../catalog/store.ts';
import type { Campaign, TrackedEvent } from '../catalog/types.ts';
import type { BatchMeters } from '../platform/db/batch.ts';
import { createBatcher } from '../platform/db/batcher.ts';
import type { DatabaseHealth } from '../platform/db/health.ts';
import { transaction } from '../platform/db/pool.ts';
import type { Click, ClickSession } from './clicks/insert-clicks.ts';
import type { EventMeter } from './event-rows.ts';
import {
  type CountedIn,
  createBeaconWriter,
  createWriters,
  needsTransaction,
  type Writers,
  writeCounted,
} from './writers.ts';

/** Stores events. Calls resolve when the events are durable, or reject with `unavailable` (503). */
export type Recorder = {
  beacon: (event: TrackedEvent, campaign: Campaign) => Promise<void>;
  /**
   * Stores a click.
   * @returns the session data that the landing page needs, or null
   */
  click: (click: Click, campaign: Campaign) => Promise<ClickSession | null>;
  /** Resolves when no write is queued or in flight. */
  drain: () => Promise<void>;
};

type RecorderDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  catalog: CatalogStore;
  batchMeters: BatchMeters;
  eventMeter: EventMeter;
};

/** Creates a recorder that stores events in PostgreSQL. Calls resolve after the commit. */
export function createRecorder(deps: RecorderDeps): Recorder {
  const writers = createWriters(deps.eventMeter, createBeaconWriter());
  const beacons = createEventBatchers(deps, 'beacons', writers.beacons);
  const noThanks = createEventBatchers(deps, 'no_thanks', writers.noThanks);
  const clicks = createEventBatchers(deps, 'clicks', writers.clicks);
  return {
    beacon: (event, campaign) =>
      rulesOf(event.kind).optOut
        ? noThanks.add({ optOutDays: campaign.optOutDays, ...event }, campaign)
        : beacons.add(event, campaign),
    click: async (click, campaign) => {
      // Wait for queued impressions: a click that is stored before its impression would be considered a click without
      // an impression.
      if (click.recorded) await beacons.written();
      return clicks.add(click, campaign);
    },
    drain: async () => {
      await Promise.all([beacons.drain(), noThanks.drain(), clicks.drain()]);
    },
  };
}

type EventBatchers<Event, Result> = {
  add: (event: Event, campaign: Campaign) => Promise<Result>;
  /**
   * Returns a promise that resolves when all queued and in-flight events have been written. Returns null if none
   * exists.
   */
  written: () => Promise<unknown> | null;
  drain: () => Promise<unknown>;
};

/**
 * Creates two batchers: one for events that need a transaction, because they count towards caps or cause postbacks, and
 * one for all other events, which need only a single statement.
 */
function createEventBatchers<Event extends TrackedEvent, Result>(
  { pool, dbHealth, catalog, batchMeters }: RecorderDeps,
  name: string,
  writers: Writers<Event, Result>,
): EventBatchers<Event, Result> {
  const plain = createBatcher<Event, Result>({
    write: (events) => writers.write(pool, events),
    dbHealth,
    meter: batchMeters(name),
    ...batchLimits,
  });
  const counted = createBatcher<CountedIn<Event>, Result>({
    write: (items) => transaction(pool, (executor) => writeCounted(executor, catalog.current(), items, writers)),
    dbHealth,
    meter: batchMeters(`capped_${name}`),
    ...batchLimits,
  });
  return {
    add: (event, campaign) => {
      const snapshot = catalog.current();
      return needsTransaction(snapshot, event, campaign)
        ? counted.add({ event, campaign, snapshot })
        : plain.add(event);
    },
    written: () => {
      const [ofPlain, ofCounted] = [plain.written(), counted.written()];
      return ofPlain === null ? ofCounted : Promise.all([ofPlain, ofCounted]);
    },
    drain: () => Promise.all([plain.drain(), counted.drain()]),
  };
}

/** Batch limits for events. */
export const batchLimits = {
  /** Maximum number of events per transaction. */
  maxItems: 512,
  /** Maximum number of concurrent transactions per kind of batch. */
  maxConcurrentBatches: 2,
  /**
   * Minimum number of queued events for starting a second, concurrent transaction. With fewer events, the additional
   * transaction costs more than it gains.
   */
  minConcurrentItems: 24,
};
