import type { EventLogRoom } from '../event-log/room.ts';
import type { Offers } from '../offers/room.ts';
import type { HotRoutes } from '../platform/http/hot-routes.ts';
import type { Job } from '../platform/jobs.ts';
import type { App } from '../platform/ports.ts';
import type { Platform } from '../platform/room.ts';
import { raiseCampaignEvents } from './campaign-events.ts';
import { conversionEvent } from './conversions/event-type.ts';
import { conversionRoutes } from './conversions/routes.ts';
import { startLogConsumer } from './log/consumer.ts';
import { createEventMeter } from './metrics.ts';
import type { TrackingDeps } from './ports.ts';
import { applyTrackingRetention } from './retention.ts';
import { createTrackingRoutes } from './routes.ts';
import { eraseTransactionIds, exportConversions, exportEvents } from './user-data.ts';

export type Tracking = ReturnType<typeof createTracking>;

type Needs = { platform: Platform; eventLog: EventLogRoom; offers: Offers };

/** Beacons, clicks and conversions. */
export function createTracking({ platform, eventLog: { log }, offers }: Needs) {
  const eventMeter = createEventMeter(platform.deps.metrics.registry);
  const deps: TrackingDeps = { ...offers.deps, eventMeter, eventLog: log };
  let opened: ReturnType<typeof createTrackingRoutes> | null = null;
  const routes = () => {
    opened ??= createTrackingRoutes(deps);
    return opened;
  };
  const jobs: Job[] = [
    {
      name: 'campaign events',
      roles: ['worker'],
      pauseMs: 10_000,
      locks: 'rows of operational_events, in the order of their key',
      run: () => raiseCampaignEvents(deps),
    },
  ];
  if (log !== null)
    jobs.push({
      name: 'event log',
      roles: ['worker'],
      locks: 'leases in event_log_positions; a row of it, then what the events need',
      start: () => startLogConsumer(deps, log),
    });
  return {
    name: 'tracking',
    deps,
    eventTypes: [conversionEvent],
    retention: applyTrackingRetention,
    userData: {
      eraseWithSessions: eraseTransactionIds,
      exports: { events: exportEvents, conversions: exportConversions },
    },
    hotRoutes: async (scope: App, hot: HotRoutes) => {
      await scope.register((plugin: App) => routes().beacons(plugin, hot));
    },
    publicRoutes: async (open: App) => {
      await open.register(routes().clicks);
      await open.register(conversionRoutes, deps);
    },
    jobs: () => jobs,
  };
}
