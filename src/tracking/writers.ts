import { activeCapsOf } from '../budgets/caps.ts';
import { type CountedEvent, countEvents, isCounted } from '../budgets/count.ts';
import { type EventKind, rulesOf } from '../catalog/event-kinds.ts';
import type { CapEvent } from '../catalog/rules.ts';
import type { Campaign, Snapshot } from '../catalog/types.ts';
import type { TrackedEvent } from '../event-log/tracked-event.ts';
import { type Executor, type Transaction, whenCommitted } from '../platform/db/pool.ts';
import { insertNewNoThanks, insertNoThanks, type NoThanks } from './beacons/insert-no-thanks.ts';
import {
  type Click,
  type ClickSession,
  findClickSessions,
  insertClicks,
  insertNewClicks,
} from './clicks/insert-clicks.ts';
import type { NewEvent } from './event-rows.ts';
import { insertEvents, insertNewEvents } from './insert-events.ts';
import type { EventMeter } from './metrics.ts';

/**
 * How events are written, and counted in the metrics once they are committed. Results: one for each event, in order;
 * none where `Result` is void.
 */
export type Writers<Event, Result> = {
  write: (executor: Executor, events: readonly Event[]) => Promise<readonly Result[]>;
  /** Writes in a transaction that counts events for caps, too. @returns those that are new and not suspicious */
  writeNew: (executor: Executor, events: readonly Event[]) => Promise<NewEvent[]>;
  /** The results of events that `writeNew` wrote. */
  resultsOf: (executor: Executor, events: readonly Event[]) => Promise<readonly Result[]>;
};

export type EventWriters = {
  beacons: Writers<TrackedEvent, void>;
  noThanks: Writers<NoThanks, void>;
  clicks: Writers<Click, ClickSession | null>;
};

/** The writers of all kinds of events. */
export function createWriters(
  meter: EventMeter,
  writeBeacons: (executor: Executor, events: readonly TrackedEvent[]) => Promise<void> = insertEvents,
): EventWriters {
  const count = (executor: Executor, events: readonly TrackedEvent[]): void =>
    whenCommitted(executor, () => {
      for (const { kind, suspicious } of events) meter.recorded(kind, suspicious);
    });
  const countClickIn = (executor: Executor) => (suspicion: string | null) =>
    whenCommitted(executor, () => meter.recorded('click', suspicion));
  const withoutResults = <Event extends TrackedEvent>(
    write: (executor: Executor, events: readonly Event[]) => Promise<void>,
    writeNew: Writers<Event, void>['writeNew'],
  ): Writers<Event, void> => ({
    write: async (executor, events) => {
      await write(executor, events);
      count(executor, events);
      return [];
    },
    writeNew: async (executor, events) => {
      const stored = await writeNew(executor, events);
      count(executor, events);
      return stored;
    },
    resultsOf: async () => [],
  });
  return {
    beacons: withoutResults(writeBeacons, insertNewEvents),
    noThanks: withoutResults(insertNoThanks, insertNewNoThanks),
    clicks: {
      write: (executor, events) => insertClicks(executor, events, countClickIn(executor)),
      writeNew: (executor, events) => insertNewClicks(executor, events, countClickIn(executor)),
      resultsOf: findClickSessions,
    },
  };
}

/** An event of a campaign with caps: it is counted in the transaction that stores it. */
export type Counted<Event> = { event: Event; campaign: Campaign };

const isCapEvent = (kind: EventKind): kind is EventKind & CapEvent => rulesOf(kind).frequencyCap === true;

/** Whether caps count an event. */
export const needsCount = (snapshot: Snapshot, { kind, claims }: TrackedEvent, campaign: Campaign): boolean =>
  isCapEvent(kind) && isCounted(activeCapsOf(snapshot), campaign, claims.publisherId, kind);

/** Stores events. @returns those that are still to be counted, with `countEvents`: the new ones */
export async function writeUncounted<Event extends TrackedEvent, Result>(
  executor: Transaction,
  items: readonly Counted<Event>[],
  { writeNew }: Writers<Event, Result>,
): Promise<CountedEvent[]> {
  const stored = await writeNew(
    executor,
    items.map(({ event }) => event),
  );
  const isNew = new Set(stored.map((event) => `${event.session_id} ${event.offer_id}`));
  return items.flatMap(({ event: { kind, sessionId, claims, atMs }, campaign }) => {
    // A repeat within the batch counts once.
    if (!isCapEvent(kind) || !isNew.delete(`${sessionId} ${claims.offerId}`)) return [];
    return [{ kind, sessionId, publisherId: claims.publisherId, offerId: claims.offerId, campaign, atMs }];
  });
}

/** Stores events, and counts those that are new for caps, in one transaction. */
export async function writeCounted<Event extends TrackedEvent, Result>(
  executor: Transaction,
  snapshot: Snapshot,
  items: readonly Counted<Event>[],
  writers: Writers<Event, Result>,
): Promise<readonly Result[]> {
  await countEvents(executor, activeCapsOf(snapshot), await writeUncounted(executor, items, writers));
  return writers.resultsOf(
    executor,
    items.map(({ event }) => event),
  );
}
