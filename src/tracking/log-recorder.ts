import { rulesOf } from '../catalog/event-kinds.ts';
import type { Campaign, EventLog, LoggedEvent } from '../catalog/types.ts';
import type { BatchMeters } from '../platform/db/batch.ts';
import { createBatcher } from '../platform/db/batcher.ts';
import type { DatabaseHealth } from '../platform/db/health.ts';
import type { Click, ClickSession } from './clicks/insert-clicks.ts';
import { batchLimits, type Recorder } from './recorder.ts';

/** Event with a function that stores it directly if the event log does not accept it. */
type Item = { event: LoggedEvent; storeDirectly: () => Promise<void> };

/**
 * Timeout for appending to the event log, in milliseconds. If it expires, the event is stored directly in PostgreSQL.
 */
const limitMs = 2_000;
/**
 * Timeout for appending while PostgreSQL is unavailable as well, in milliseconds. It is long enough for the event log
 * to elect a replacement for a failed server.
 */
const lastLimitMs = 15_000;
/** Maximum number of concurrent batches per partition. Concurrency hides the consensus latency of the log servers. */
const maxConcurrentBatches = 4;

/**
 * Creates a recorder that stores events in the event log. A call resolves when the required number of servers have
 * stored the event. Events that the log does not accept are stored by `direct`. An event may end up in both places,
 * which is harmless because repeated events change nothing (docs/operations.md#event-log).
 */
export function createLogRecorder(
  log: EventLog,
  direct: Recorder,
  { dbHealth, batchMeters }: { dbHealth: DatabaseHealth; batchMeters: BatchMeters },
): Recorder {
  const batchers = Array.from({ length: log.partitions }, (_, partition) =>
    createBatcher<Item, void>({
      ...batchLimits,
      maxConcurrentBatches,
      dbHealth: alwaysUp,
      meter: batchMeters(`event_log_${partition}`),
      write: async (items) => {
        const storeDirectly = (): Promise<void>[] => items.map((item) => item.storeDirectly());
        const hasDatabase = dbHealth.isUp();
        if (!log.isUp() && hasDatabase) return storeDirectly();
        const events = items.map(({ event }) => event);
        return log.append(partition, events, hasDatabase ? limitMs : lastLimitMs).then(() => [], storeDirectly);
      },
    }),
  );
  const add = async (item: Item): Promise<void> => batchers[log.partitionOf(item.event.sessionId)]?.add(item);

  /** Reads the session data for the landing page if possible. If that fails, the click is redirected without it. */
  const sessionOf = (click: Click, campaign: Campaign): Promise<ClickSession | null> =>
    click.wantsSession && dbHealth.isUp()
      ? direct.click({ ...click, recorded: false }, campaign).catch(() => null)
      : Promise.resolve(null);

  return {
    beacon: (event, campaign) =>
      add({
        event: rulesOf(event.kind).optOut ? { ...event, optOutDays: campaign.optOutDays } : event,
        storeDirectly: () => direct.beacon(event, campaign),
      }),
    click: async (click, campaign) => {
      const { recorded, wantsSession: _, ...event } = click;
      const stored = recorded
        ? add({
            event,
            storeDirectly: () => direct.click({ ...click, wantsSession: false }, campaign).then(() => {}),
          })
        : Promise.resolve();
      const [session] = await Promise.all([sessionOf(click, campaign), stored]);
      return session;
    },
    drain: async () => {
      await Promise.all(batchers.map(({ drain }) => drain()));
      await direct.drain();
    },
  };
}

/** Batches for the event log do not depend on PostgreSQL, so the batcher treats the database as always available. */
const alwaysUp = { isUp: () => true, onDown: () => {}, sawCommit: () => {}, sawFailure: () => {} };
