import type { Catalog } from '../catalog/module.ts';
import type { StoreEvents } from '../catalog/types.ts';
import { everyRole, type Job } from '../platform/jobs.ts';
import type { Platform } from '../platform/module.ts';
import { startLogConsumer } from './consumer.ts';
import { type OpenEventLog, openEventLog } from './event-log.ts';
import { registerEventLogMetrics } from './metrics.ts';

type EventLogDeps = { platform: Platform; catalog: Catalog };

/**
 * Creates the event-log module. If EVENT_LOG_URL is set, events are accepted into a log before they are stored in
 * PostgreSQL.
 */
export async function createEventLog({ platform, catalog: { store: catalog } }: EventLogDeps) {
  const { config, pool, logger, metrics, dbHealth, now } = platform.deps;
  const log = config.eventLog === null ? null : await openEventLog(config.eventLog, logger);
  registerEventLogMetrics(metrics.registry, { pool, eventLog: log, now });
  const jobsOf = (eventLog: OpenEventLog, storeEvents: StoreEvents): readonly Job[] => [
    {
      name: 'event log position',
      roles: everyRole,
      pauseMs: 1000,
      locks: 'none: reads event_log_positions into memory',
      run: () => eventLog.refresh(pool),
    },
    {
      name: 'event log',
      roles: ['worker'],
      locks: 'leases in event_log_positions; a row of it, then what the events need',
      start: () => startLogConsumer({ pool, dbHealth, catalog, storeEvents, logger, now }, eventLog),
    },
  ];
  return {
    name: 'event-log',
    rank: 50,
    ...(log !== null && { eventLog: log }),
    /**
     * Returns a time in epoch milliseconds. All events that were acknowledged before that time have been stored in the
     * database.
     */
    eventsStoredUntil: log === null ? now : () => Math.min(now(), log.storedUntil()),
    jobs: ({ storeEvents }: { storeEvents: StoreEvents | null }) =>
      log === null || storeEvents === null ? [] : jobsOf(log, storeEvents),
    close: async () => log?.close(),
  };
}
