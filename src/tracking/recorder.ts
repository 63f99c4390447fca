import { type EventKind, rulesOf } from '../catalog/event-kinds.ts';
import type { CapEvent } from '../catalog/rules/rules.ts';
import type { CatalogStore } from '../catalog/snapshot/store.ts';
import type { Campaign } from '../catalog/snapshot/types.ts';
import { activeCapsOf } from '../offers/caps/active-caps.ts';
import { countEvents, isCounted } from '../offers/caps/count.ts';
import { createBatcher } from '../platform/db/batcher.ts';
import { type Executor, transaction } from '../platform/db/pool.ts';
import { createBeaconWriter } from './beacons/beacon-writer.ts';
import { insertNewEvents } from './beacons/insert-events.ts';
import { insertNewNoThanks, insertNoThanks, type NoThanks } from './beacons/insert-no-thanks.ts';
import {
  type Click,
  type ClickSession,
  findClickSessions,
  insertClicks,
  insertNewClicks,
} from './clicks/insert-clicks.ts';
import type { NewEvent } from './event-rows.ts';
import type { TrackingDeps } from './ports.ts';
import type { TrackedEvent } from './tracked-event.ts';

/** Stores events. Calls resolve after the commit, and reject with `unavailable` (503) while the database is. */
export type Recorder = {
  beacon: (event: TrackedEvent, campaign: Campaign) => Promise<void>;
  /** @returns what the landing page needs of the session */
  click: (click: Click, campaign: Campaign) => Promise<ClickSession | null>;
  /** Resolves when no write is waiting or in flight. */
  drain: () => Promise<void>;
};

type RecorderDeps = Pick<TrackingDeps, 'pool' | 'dbHealth' | 'catalog' | 'batchMeters' | 'eventMeter'>;

export function createRecorder(deps: RecorderDeps): Recorder {
  const writeBeacons = createBeaconWriter();
  const countAll = (events: readonly TrackedEvent[]): void => {
    for (const { kind, suspicious } of events) deps.eventMeter.recorded(kind, suspicious);
  };
  const beacons = createEventBatchers<TrackedEvent, void>(deps, 'beacons', {
    write: async (executor, events) => {
      await writeBeacons(executor, events);
      return [];
    },
    writeNew: insertNewEvents,
    count: countAll,
    resultsOf: async () => [],
  });
  const noThanks = createEventBatchers<NoThanks, void>(deps, 'no_thanks', {
    write: async (executor, events) => {
      await insertNoThanks(executor, events);
      return [];
    },
    writeNew: insertNewNoThanks,
    count: countAll,
    resultsOf: async () => [],
  });
  const countClick = (suspicion: string | null): void => deps.eventMeter.recorded('click', suspicion);
  const clicks = createEventBatchers<Click, ClickSession | null>(deps, 'clicks', {
    write: (executor, events) => insertClicks(executor, events, countClick),
    writeNew: (executor, events) => insertNewClicks(executor, events, countClick),
    resultsOf: findClickSessions,
  });
  return {
    beacon: (event, campaign) =>
      rulesOf(event.kind).optOut
        ? noThanks.add({ ...event, optOutDays: campaign.optOutDays }, campaign)
        : beacons.add(event, campaign),
    click: clicks.add,
    drain: async () => {
      await Promise.all([beacons.drain(), noThanks.drain(), clicks.drain()]);
    },
  };
}

/** How events are written. Results: one for each event, in order; none where `Result` is void. */
type Writers<Event, Result> = {
  write: (executor: Executor, events: readonly Event[]) => Promise<readonly Result[]>;
  /** Writes in a transaction that counts events for caps, too. @returns those that are new and not suspicious */
  writeNew: (executor: Executor, events: readonly Event[]) => Promise<NewEvent[]>;
  /** The results of events that `writeNew` wrote. */
  resultsOf: (executor: Executor, events: readonly Event[]) => Promise<readonly Result[]>;
  /** Counts events that were written, where the writers themselves do not. */
  count?: (events: readonly Event[]) => void;
};

type EventBatchers<Event, Result> = {
  add: (event: Event, campaign: Campaign) => Promise<Result>;
  drain: () => Promise<unknown>;
};

/** Two batchers: events of capped campaigns need a transaction, all others one statement. */
function createEventBatchers<Event extends TrackedEvent, Result>(
  { pool, dbHealth, catalog, batchMeters }: RecorderDeps,
  name: string,
  { write, writeNew, resultsOf, count = () => {} }: Writers<Event, Result>,
): EventBatchers<Event, Result> {
  const plain = createBatcher<Event, Result>({
    write: async (events) => {
      const results = await write(pool, events);
      count(events);
      return results;
    },
    dbHealth,
    meter: batchMeters(name),
    ...batchLimits,
  });
  const counted = createBatcher<Counted<Event>, Result>({
    write: (items) =>
      transaction(pool, async (executor) => {
        const events = items.map(({ event }) => event);
        await countNew(executor, catalog, items, await writeNew(executor, events));
        executor.onCommit(() => count(events));
        return resultsOf(executor, events);
      }),
    dbHealth,
    meter: batchMeters(`capped_${name}`),
    ...batchLimits,
  });
  const needsCount = ({ kind, claims }: TrackedEvent, campaign: Campaign): boolean =>
    isCapEvent(kind) && isCounted(activeCapsOf(catalog.current()), campaign, claims.publisherId, kind);
  return {
    add: (event, campaign) => (needsCount(event, campaign) ? counted.add({ event, campaign }) : plain.add(event)),
    drain: () => Promise.all([plain.drain(), counted.drain()]),
  };
}

const batchLimits = {
  /** Events in one transaction (count). */
  maxItems: 512,
  /** Transactions of one kind in flight at once (count). */
  maxConcurrentBatches: 2,
  /** Events that are worth a transaction beside another (count): with fewer, transactions cost more than they gain. */
  minConcurrentItems: 24,
};

const isCapEvent = (kind: EventKind): kind is EventKind & CapEvent => rulesOf(kind).frequencyCap === true;

/** An event of a campaign with caps: it is counted in the transaction that stores it. */
type Counted<Event> = { event: Event; campaign: Campaign };

async function countNew(
  executor: Executor,
  catalog: Pick<CatalogStore, 'current'>,
  items: readonly Counted<TrackedEvent>[],
  stored: readonly NewEvent[],
): Promise<void> {
  const isNew = new Set(stored.map((event) => `${event.session_id} ${event.offer_id}`));
  const events = items.flatMap(({ event: { kind, sessionId, claims, atMs }, campaign }) => {
    // A repeat within the batch counts once.
    if (!isCapEvent(kind) || !isNew.delete(`${sessionId} ${claims.offerId}`)) return [];
    return [{ kind, sessionId, publisherId: claims.publisherId, offerId: claims.offerId, campaign, atMs }];
  });
  await countEvents(executor, activeCapsOf(catalog.current()), events);
}
