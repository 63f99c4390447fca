import { rulesOf } from '../catalog/event-kinds.ts';
import type { Campaign, EventLog, LoggedEvent } from '../catalog/types.ts';
import type { BatchMeters } from '../platform/db/batch.ts';
import { createBatcher } from '../platform/db/batcher.ts';
import type { DatabaseHealth } from '../platform/db/health.ts';
import type { Click, ClickSession } from './clicks/insert-clicks.ts';
import { batchLimits, type Recorder } from './recorder.ts';

/** An event, and a function that stores it if the log cannot take it. */
type Item = { event: LoggedEvent; storeDirectly: () => Promise<void> };

/** Timeout of an append, after which the event is stored directly (milliseconds). */
const limitMs = 2_000;
/**
 * Timeout while PostgreSQL is unavailable too, so that the log can elect a replacement for a lost server
 * (milliseconds).
 */
const lastLimitMs = 15_000;
/** Maximum number of concurrent messages of a partition. They hide the latency of the servers' agreement. */
const maxConcurrentBatches = 4;

/**
 * Stores events in the event log. Calls resolve when the required servers have them. Events that the log does not take
 * are stored by `direct`. A repeat changes nothing, so that an event may be in both (docs/operations.md#event-log).
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

  /** Session data for the landing page is read if possible; a click is followed in any case. */
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

/** The batches of the log do not depend on PostgreSQL. */
const alwaysUp = { isUp: () => true, onDown: () => {}, sawCommit: () => {}, sawFailure: () => {} };
