import type { Catalog } from '../catalog/module.ts';
import { healthRoutes } from '../platform/health/routes.ts';
import type { App } from '../platform/http/app.ts';
import { everyRole, type Job } from '../platform/jobs.ts';
import type { Platform } from '../platform/module.ts';
import { openEventLog } from './event-log.ts';
import { registerEventLogMetrics } from './metrics.ts';

export type EventLogModule = Awaited<ReturnType<typeof createEventLog>>;

/** The log that takes events before PostgreSQL stores them, where EVENT_LOG_URL names one. */
export async function createEventLog({ platform, catalog }: { platform: Platform; catalog: Catalog }) {
  const { config, pool, logger, metrics, dbHealth, now } = platform.deps;
  const log = config.eventLog === null ? null : await openEventLog(config.eventLog, logger);
  registerEventLogMetrics(metrics.registry, { pool, eventLog: log, now });
  const jobs: Job[] = [];
  if (log !== null)
    jobs.push({
      name: 'event log position',
      roles: everyRole,
      pauseMs: 1000,
      locks: 'none: reads event_log_positions into memory',
      run: () => log.refresh(pool),
    });
  return {
    name: 'event-log',
    rank: 50,
    log,
    /** Epoch milliseconds: all events that were acknowledged before are stored. */
    storedUntil: log === null ? now : () => Math.min(now(), log.storedUntil()),
    probes: async (app: App) => {
      const catalogVersion = () => catalog.store.current().version;
      await app.register(healthRoutes, { dbHealth, catalogVersion, eventLog: log });
    },
    jobs: () => jobs,
    close: async () => log?.close(),
  };
}
