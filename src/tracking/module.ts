import type { EventLog, LoggedEvent } from '../catalog/tracked-event.ts';
import type { Snapshot } from '../catalog/types.ts';
import type { CouponIssuer } from '../coupons/issuer.ts';
import type { Coupons } from '../coupons/module.ts';
import type { Offers } from '../offers/module.ts';
import type { Transaction } from '../platform/db/pool.ts';
import type { App } from '../platform/http/app.ts';
import type { HotRoutes } from '../platform/http/hot-routes.ts';
import type { Job } from '../platform/jobs.ts';
import type { Platform } from '../platform/module.ts';
import { addBeaconRoutes } from './beacons/routes.ts';
import { raiseCampaignEvents } from './campaign-events.ts';
import { createClickCoupons } from './clicks/click-coupons.ts';
import { createClickIdCodec } from './clicks/click-id.ts';
import { createFollowClick } from './clicks/follow.ts';
import { clickRoutes } from './clicks/routes.ts';
import { conversionEvent } from './conversions/event-type.ts';
import { conversionRoutes } from './conversions/routes.ts';
import { createEventMeter } from './event-rows.ts';
import { createLogRecorder } from './log-recorder.ts';
import type { TrackingDeps } from './ports.ts';
import { createRecorder } from './recorder.ts';
import { createRobotTraffic } from './robot-traffic.ts';
import { storeEvents } from './store-events.ts';
import { createTestClick } from './test-click.ts';
import { applyTrackingRetention, eraseTransactionIds, exportConversions, exportEvents } from './user-data.ts';
import { createTokenVerifier } from './verify-token.ts';
import { createWriters } from './writers.ts';

export type Tracking = ReturnType<typeof createTracking>;

type Needs = { platform: Platform; coupons: Coupons; offers: Offers };
type WithLog = { eventLog: EventLog | null };

/** Beacons, clicks and conversions. */
export function createTracking({ platform, coupons, offers }: Needs) {
  const eventMeter = createEventMeter(platform.deps.metrics.registry);
  const deps: TrackingDeps = { ...offers.deps, eventMeter };
  const writers = createWriters(eventMeter);
  const robotTraffic = createRobotTraffic();
  let opened: ReturnType<typeof createTrackingRoutes> | null = null;
  const routesWith = ({ eventLog }: WithLog) => {
    opened ??= createTrackingRoutes({ ...deps, eventLog, coupons: coupons.issuer, robotTraffic });
    return opened;
  };
  const jobs: readonly Job[] = [
    {
      name: 'campaign events',
      roles: ['worker'],
      pauseMs: 10_000,
      locks: 'rows of operational_events, in the order of their key',
      run: () => raiseCampaignEvents(deps),
    },
    {
      name: 'robot notices',
      roles: ['api'],
      pauseMs: 60_000,
      locks: 'nothing: it reads memory',
      run: async () => robotTraffic.addNotices(deps.notices),
    },
  ];
  return {
    name: 'tracking',
    rank: 170,
    deps,
    testClick: createTestClick(createClickIdCodec(platform.deps.config.tokenKeys)),
    eventTypes: [conversionEvent],
    retention: applyTrackingRetention,
    userData: {
      eraseWithSessions: eraseTransactionIds,
      exports: { events: exportEvents, conversions: exportConversions },
    },
    storeEvents: (executor: Transaction, snapshot: Snapshot, events: readonly LoggedEvent[]) =>
      storeEvents(executor, snapshot, writers, events),
    hotRoutes: async (scope: App, hot: HotRoutes, contributions: WithLog) => {
      await scope.register((plugin: App) => routesWith(contributions).beacons(plugin, hot));
    },
    publicRoutes: async (open: App, contributions: WithLog) => {
      await open.register(routesWith(contributions).clicks);
      await open.register(conversionRoutes, deps);
    },
    jobs: () => jobs,
  };
}

type RouteNeeds = Parameters<typeof createTokenVerifier>[0] &
  Omit<Parameters<typeof createRecorder>[0], 'pool'> &
  Pick<TrackingDeps, 'config' | 'failures' | 'flushPool'> &
  WithLog & { coupons: CouponIssuer };

/**
 * Beacons and clicks, which share one recorder and one token verifier
 * (docs/reference/tracking-and-conversions.md#tracking-urls).
 */
function createTrackingRoutes(deps: RouteNeeds) {
  const { config, catalog, failures, eventLog } = deps;
  const verify = createTokenVerifier(deps);
  const databaseRecorder = createRecorder({ ...deps, pool: deps.flushPool });
  const recorder = eventLog === null ? databaseRecorder : createLogRecorder(eventLog, databaseRecorder, deps);
  const clickCoupons = createClickCoupons({ ...deps, pool: deps.flushPool });
  const follow = createFollowClick(config, recorder, clickCoupons);
  return {
    beacons: async (scope: App, hot: HotRoutes): Promise<void> => {
      scope.addHook('onClose', recorder.drain);
      addBeaconRoutes(scope, hot, { failures, verify, recorder });
    },
    clicks: async (app: App): Promise<void> => {
      app.addHook('onClose', async () => void (await Promise.all([recorder.drain(), clickCoupons.drain()])));
      await clickRoutes(app, { catalog, config, failures, verify, follow });
    },
  };
}
