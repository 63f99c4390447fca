import type { CouponIssuer } from '../coupons/issuer.ts';
import type { Coupons } from '../coupons/module.ts';
import type { EventLogModule } from '../event-log/module.ts';
import type { Offers } from '../offers/module.ts';
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
import { startLogConsumer } from './log/consumer.ts';
import { createLogRecorder } from './log/log-recorder.ts';
import type { TrackingDeps } from './ports.ts';
import { createRecorder } from './recorder.ts';
import { createRobotTraffic } from './robot-traffic.ts';
import { createTestClick } from './test-click.ts';
import { applyTrackingRetention, eraseTransactionIds, exportConversions, exportEvents } from './user-data.ts';
import { createTokenVerifier } from './verify-token.ts';

export type Tracking = ReturnType<typeof createTracking>;

type Needs = { platform: Platform; eventLog: EventLogModule; coupons: Coupons; offers: Offers };

/** Beacons, clicks and conversions. */
export function createTracking({ platform, eventLog: { log }, coupons, offers }: Needs) {
  const eventMeter = createEventMeter(platform.deps.metrics.registry);
  const deps: TrackingDeps = { ...offers.deps, eventMeter, eventLog: log };
  const robotTraffic = createRobotTraffic();
  let opened: ReturnType<typeof createTrackingRoutes> | null = null;
  const routes = () => {
    opened ??= createTrackingRoutes({ ...deps, coupons: coupons.issuer, robotTraffic });
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
    {
      name: 'robot notices',
      roles: ['api'],
      pauseMs: 60_000,
      locks: 'nothing: it reads memory',
      run: async () => robotTraffic.addNotices(deps.notices),
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
    rank: 170,
    deps,
    testClick: createTestClick(createClickIdCodec(platform.deps.config.tokenKeys)),
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

type RouteNeeds = Parameters<typeof createTokenVerifier>[0] &
  Omit<Parameters<typeof createRecorder>[0], 'pool'> &
  Pick<TrackingDeps, 'config' | 'failures' | 'eventLog' | 'flushPool'> & { coupons: CouponIssuer };

/** Beacons and clicks, which share one recorder and one token verifier (docs/interface.md#tracking). */
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
