import type pg from 'pg';
import type { Budgets } from '../budgets/module.ts';
import type { Catalog } from '../catalog/module.ts';
import type { CatalogStore } from '../catalog/store.ts';
import type { EventLog, LoggedEvent, Snapshot } from '../catalog/types.ts';
import type { Config } from '../config.ts';
import type { CouponIssuer } from '../coupons/issuer.ts';
import type { Coupons } from '../coupons/module.ts';
import type { Learning } from '../learning/module.ts';
import type { Offers } from '../offers/module.ts';
import type { BatchMeters } from '../platform/db/batch.ts';
import type { DatabaseHealth } from '../platform/db/health.ts';
import type { Transaction } from '../platform/db/pool.ts';
import type { App } from '../platform/http/app.ts';
import type { FailureLimit } from '../platform/http/failure-limit.ts';
import type { HotRoutes } from '../platform/http/hot-routes.ts';
import type { Job } from '../platform/jobs.ts';
import type { Platform } from '../platform/module.ts';
import type { Reports } from '../reports/module.ts';
import type { Webhooks } from '../webhooks/module.ts';
import { addBeaconRoutes } from './beacons/routes.ts';
import { raiseCampaignEvents } from './campaign-events.ts';
import { createClickCoupons } from './clicks/click-coupons.ts';
import { createClickIdCodec } from './clicks/click-id.ts';
import { createFollowClick } from './clicks/follow.ts';
import { clickRoutes } from './clicks/routes.ts';
import { conversionEvent } from './conversions/postback.ts';
import { conversionRoutes } from './conversions/routes.ts';
import { createEventMeter, type EventMeter } from './event-rows.ts';
import { createLogRecorder } from './log-recorder.ts';
import { createRecorder } from './recorder.ts';
import { createRobotTraffic } from './robot-traffic.ts';
import { storeEvents } from './store-events.ts';
import { createTestClick } from './test-click.ts';
import { applyTrackingRetention, eraseTransactionIds, exportConversions, exportEvents } from './user-data.ts';
import { createTokenVerifier, type VerifyToken } from './verify-token.ts';
import { createWriters } from './writers.ts';

export type Tracking = ReturnType<typeof createTracking>;

type TrackingDependencies = {
  platform: Platform;
  catalog: Catalog;
  learning: Learning;
  coupons: Coupons;
  offers: Offers;
  budgets: Budgets;
  webhooks: Webhooks;
  reports: Reports;
  /** Returns the time, in epoch milliseconds, up to which all acknowledged events are stored. */
  eventsStoredUntil: () => number;
};

type WithLog = { eventLog: EventLog | null };

/** Creates the tracking module: beacons, clicks and conversions. */
export function createTracking({
  platform,
  catalog,
  learning,
  coupons,
  offers,
  eventsStoredUntil,
}: TrackingDependencies) {
  const { pool, flushPool, dbHealth, config, failures, tokens, secretBox, batchMeters, metrics, now } = platform.deps;
  const { store } = catalog;
  const eventMeter = createEventMeter(metrics.registry);
  const writers = createWriters(eventMeter);
  const robotTraffic = createRobotTraffic();
  const clickIds = createClickIdCodec(config.tokenKeys);
  let opened: ReturnType<typeof createTrackingRoutes> | null = null;
  const routesWith = ({ eventLog }: WithLog) => {
    opened ??= createTrackingRoutes({
      pool: flushPool,
      dbHealth,
      catalog: store,
      config,
      failures,
      batchMeters,
      eventMeter,
      eventLog,
      verify: createTokenVerifier({ catalog: store, tokens, now, robotTraffic }),
      coupons: coupons.issuer,
    });
    return opened;
  };
  const jobs: readonly Job[] = [
    {
      name: 'campaign events',
      roles: ['worker'],
      pauseMs: 10_000,
      locks: 'rows of operational_events, in the order of their key',
      run: () => raiseCampaignEvents({ pool, catalog: store, model: learning.model, now }),
    },
    {
      name: 'robot notices',
      roles: ['api'],
      pauseMs: 60_000,
      locks: 'nothing: it reads memory',
      run: async () => robotTraffic.addNotices(offers.requestLog.addNotice),
    },
  ];
  return {
    name: 'tracking',
    rank: 170,
    eventMeter,
    clickIds,
    testClick: createTestClick(clickIds),
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
      await open.register(conversionRoutes, {
        pool: flushPool,
        dbHealth,
        catalog: store,
        config,
        secretBox,
        batchMeters,
        eventMeter,
        eventsStoredUntil,
        now,
        failures,
      });
    },
    jobs: () => jobs,
  };
}

type TrackingRouteDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  catalog: CatalogStore;
  config: Config;
  failures: FailureLimit;
  batchMeters: BatchMeters;
  eventMeter: EventMeter;
  eventLog: EventLog | null;
  verify: VerifyToken;
  coupons: CouponIssuer;
};

/**
 * Creates the beacon and click routes, which share one recorder
 * (docs/reference/tracking-and-conversions.md#tracking-urls).
 */
function createTrackingRoutes(deps: TrackingRouteDeps) {
  const { pool, dbHealth, catalog, config, failures, batchMeters, eventMeter, eventLog, verify, coupons } = deps;
  const databaseRecorder = createRecorder({ pool, dbHealth, catalog, batchMeters, eventMeter });
  const recorder =
    eventLog === null ? databaseRecorder : createLogRecorder(eventLog, databaseRecorder, { dbHealth, batchMeters });
  const clickCoupons = createClickCoupons({ pool, dbHealth, batchMeters, coupons });
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
