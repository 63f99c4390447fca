import { activeCapsOf, activeCapsOfSnapshots } from '../budgets/caps.ts';
import { type CountedEvent, countEvents } from '../budgets/count.ts';
import { insertNoThanks, type NoThanks } from '../budgets/opt-outs.ts';
import { ownKind, rulesOf } from '../catalog/event-kinds.ts';
import type { CapEvent } from '../catalog/rules.ts';
import type { Campaign, Snapshot, TrackedEvent } from '../catalog/types.ts';
import { type Executor, type Transaction, whenCommitted } from '../platform/db/pool.ts';
import {
  type Click,
  type ClickSession,
  findClickSessions,
  insertClicks,
  insertNewClicks,
} from './clicks/insert-clicks.ts';
import {
  type EventMeter,
  insertEvents,
  insertFirstEvents,
  insertNewEvents,
  markUnbilled,
  type NewEvent,
} from './event-rows.ts';
import { enqueuePaidEvents, needsPostback } from './paid-postbacks.ts';

/**
 * Functions that store events and update the event metrics after the commit. They return one result per event, in
 * order, or no results if `Result` is void.
 */
export type Writers<Event, Result> = {
  write: (executor: Executor, events: readonly Event[]) => Promise<readonly Result[]>;
  /**
   * Stores events in a transaction in which they are also counted for caps.
   * @returns the events that are new and not suspicious
   */
  writeNew: (executor: Executor, events: readonly Event[]) => Promise<NewEvent[]>;
  /** Returns the results for events that `writeNew` has stored. */
  resultsOf: (executor: Executor, events: readonly Event[]) => Promise<readonly Result[]>;
};

export type EventWriters = {
  beacons: Writers<TrackedEvent, void>;
  noThanks: Writers<NoThanks, void>;
  clicks: Writers<Click, ClickSession | null>;
};

/** Creates the writers for all event kinds. */
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
    write: (executor: Executor, events: readonly Event[]) => Promise<unknown>,
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
    noThanks: withoutResults(insertNoThanks, insertNoThanks),
    clicks: {
      write: (executor, events) => insertClicks(executor, events, countClickIn(executor)),
      writeNew: (executor, events) => insertNewClicks(executor, events, countClickIn(executor)),
      resultsOf: findClickSessions,
    },
  };
}

/** Event in a campaign with caps. The event is counted in the same transaction that stores it. */
export type Counted<Event> = { event: Event; campaign: Campaign };

/** Event with the snapshot that contains its campaign, whose publisher may be dropped before the event is stored. */
export type CountedIn<Event> = Counted<Event> & { snapshot: Snapshot };

/** Returns the kind of event that caps may count this event as, or null if caps never count it. */
function capEventOf({ kind, name }: TrackedEvent): CapEvent | null {
  if (kind === 'own') return name === undefined ? null : ownKind(name);
  return rulesOf(kind).frequencyCap === true ? (kind as CapEvent) : null;
}

/** Whether an event counts towards a cap. */
function needsCount(snapshot: Snapshot, event: TrackedEvent, campaign: Campaign): boolean {
  const kind = capEventOf(event);
  return kind !== null && activeCapsOf(snapshot).counts(campaign, event.claims.publisherId, kind);
}

/** Whether an event must be stored in a transaction, because it counts towards a cap or causes a postback. */
export const needsTransaction = (snapshot: Snapshot, event: TrackedEvent, campaign: Campaign): boolean =>
  needsCount(snapshot, event, campaign) || needsPostback(snapshot, event);

/**
 * Stores events without counting them for caps.
 * @returns the new events, which the caller must count with `countEvents`
 */
export async function writeUncounted<Event extends TrackedEvent, Result>(
  executor: Transaction,
  items: readonly Counted<Event>[],
  { writeNew }: Writers<Event, Result>,
): Promise<CountedEvent[]> {
  const stored = await writeNew(
    executor,
    items.map(({ event }) => event),
  );
  const isNew = new Set(stored.map((event) => `${event.session_id} ${event.offer_id} ${event.kind}`));
  return items.flatMap(({ event, campaign }) => {
    const { sessionId, claims, atMs, revenueMicros } = event;
    const kind = capEventOf(event);
    // Count an event that is repeated within the batch only once.
    if (kind === null || !isNew.delete(`${sessionId} ${claims.offerId} ${kind}`)) return [];
    const { publisherId, offerId } = claims;
    return [{ kind, sessionId, publisherId, offerId, campaign, atMs, revenueMicros }];
  });
}

/**
 * Counts events for caps and creates their postbacks. The events must have been stored in the same transaction. Events
 * that no longer fit into a budget pay nothing.
 */
export async function countWritten(
  executor: Transaction,
  snapshot: Snapshot,
  events: readonly CountedEvent[],
  activeCaps = activeCapsOf(snapshot),
): Promise<void> {
  const unbilled = await countEvents(executor, activeCaps, events);
  if (unbilled.length > 0) await markUnbilled(executor, unbilled);
  await enqueuePaidEvents(executor, snapshot, events, unbilled);
}

/** Stores events and counts the new ones for caps, in one transaction. */
export async function writeCounted<Event extends TrackedEvent, Result>(
  executor: Transaction,
  current: Snapshot,
  items: readonly CountedIn<Event>[],
  writers: Writers<Event, Result>,
): Promise<readonly Result[]> {
  const activeCaps = activeCapsOfSnapshots([current, ...items.map(({ snapshot }) => snapshot)]);
  await countWritten(executor, current, await writeUncounted(executor, items, writers), activeCaps);
  return writers.resultsOf(
    executor,
    items.map(({ event }) => event),
  );
}

/**
 * Minimum and maximum time for which a writer checks all batches for conflicts after an unexpected conflict, in
 * milliseconds.
 */
const minCheckMs = 10_000;
const maxCheckMs = 3_600_000;

/**
 * Creates a writer for beacons other than opt-outs. It stores each event once, in a statement outside of any other
 * transaction. The conflict check is a quarter of the batch cost in PostgreSQL, and most events are not repeated.
 * Therefore:
 * - A batch without known events is inserted without the check.
 * - If the database already contains one of its events, for example from another process, nothing is stored. The batch
 *   is then inserted again with the check.
 * - After such a conflict, every batch is checked for some time. This time grows with each conflict, so that repeated
 *   events cannot cause batches to be constantly written twice.
 */
export function createBeaconWriter(now: () => number = performance.now.bind(performance)) {
  const seenFilter = createSeenFilter();
  let checkMs = 0;
  let checksUntilMs = 0;

  function startChecking(): void {
    const nowMs = now();
    if (nowMs < checksUntilMs) return; // another concurrent batch had a conflict as well
    // Reset the check period if there was no conflict for longer than the last check period. Otherwise, double it.
    checkMs = nowMs - checksUntilMs > checkMs ? minCheckMs : Math.min(2 * checkMs, maxCheckMs);
    checksUntilMs = nowMs + checkMs;
  }

  return async (executor: Executor, events: readonly TrackedEvent[]): Promise<void> => {
    const repeats = events.filter(seenFilter.testAndAdd);
    if (repeats.length > 0 || now() < checksUntilMs) return insertEvents(executor, events);
    try {
      await insertFirstEvents(executor, events);
    } catch (err) {
      if ((err as { code?: unknown }).code !== uniqueViolation) throw err;
      startChecking();
      await insertEvents(executor, events);
    }
  };
}

const uniqueViolation = '23505';

/**
 * Approximate filter that detects repeated events. It forgets old events, and about one result in several thousand is
 * wrong.
 */
export type SeenFilter = {
  /**
   * Adds an event to the filter.
   * @returns whether the event was probably added before
   */
  testAndAdd: (event: TrackedEvent) => boolean;
};

/**
 * Creates a filter that stores 32-bit event hashes in a table. Each event overwrites the previous event in the same
 * slot. A million slots take 4 MB and cover 40 s at full load.
 */
export function createSeenFilter(slots = 2 ** 20): SeenFilter {
  const hashes = new Uint32Array(slots);
  return {
    testAndAdd: ({ sessionId, claims, kind }) => {
      const hash = mixText(Math.imul(mixText(seed, sessionId, randomPartStart) ^ claims.offerId, prime), kind) >>> 0;
      const slot = hash % slots;
      const wasSeen = hashes[slot] === hash;
      hashes[slot] = hash;
      return wasSeen;
    },
  };
}

/** Constants of the FNV-1a hash function. */
const seed = 0x811c9dc5;
const prime = 0x01000193;

/** Character index at which the random part of a session ID starts, after the timestamp. */
const randomPartStart = 14;

function mixText(hash: number, text: string, from = 0): number {
  let mixed = hash;
  for (let at = from; at < text.length; at += 1) mixed = Math.imul(mixed ^ text.charCodeAt(at), prime);
  return mixed;
}
