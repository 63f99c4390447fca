import { rulesOf } from '../catalog/event-kinds.ts';
import type { EventLog, LoggedEvent } from '../catalog/tracked-event.ts';
import type { Campaign } from '../catalog/types.ts';
import type { BatchMeters } from '../platform/db/batch.ts';
import { createBatcher } from '../platform/db/batcher.ts';
import type { DatabaseHealth } from '../platform/db/health.ts';
import type { Click, ClickSession } from './clicks/insert-clicks.ts';
import { batchLimits, type Recorder } from './recorder.ts';

/** An event, and how it is stored where the log cannot take it. */
type Item = { event: LoggedEvent; storeDirectly: () => Promise<void> };

/** An append that takes longer is stored directly (milliseconds). */
const limitMs = 2_000;
/** While PostgreSQL is unavailable too: so long the log may take to elect another server in place of a lost one. */
const lastLimitMs = 15_000;
/** Messages of a partition on their way at once (count): they hide how long the servers take to agree. */
const maxConcurrentBatches = 4;

/**
 * Stores events in the event log: calls resolve when the servers that must have them do. What the log does not take is
 * stored by `direct`; a repeat changes nothing, so that it may be in both (docs/operations.md#event-log).
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

  /** What the landing page needs of the session is read where it can be; a click is followed in any case. */
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
