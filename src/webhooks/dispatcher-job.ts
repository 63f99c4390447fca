import type pg from 'pg';
import type { Config } from '../config.ts';
import type { DatabaseHealth } from '../platform/db/health.ts';
import { breakConnections, createPool } from '../platform/db/pool.ts';
import type { ServerUrl } from '../platform/db/servers.ts';
import type { Logger } from '../platform/logger.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { createSigner } from '../platform/security/tracking-token.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import type { EndpointActivity } from './activity/activity.ts';
import { startDispatcher } from './dispatcher/worker.ts';
import type { DispatcherMetrics } from './metrics.ts';
import { createPayloadLinks, payloadLinkPurpose } from './payload-link.ts';
import type { Sender } from './sender.ts';

/** Longest call of an endpoint, in milliseconds. A stopping worker lets it end if the shutdown limit allows. */
const longestCallMs = 20_000;

/**
 * Planner settings for the dispatcher's statements, which are planned once: each reads a few rows by index, however
 * large the tables are. Plans for the current sizes would scan a whole queue that was empty when the plan was made;
 * with a plan for each call, a claim would spend more time on planning than on execution.
 */
const plannerSettings = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_bitmapscan: 'off',
  jit: 'off',
};

/** Number of connections: one claims while another settles; the third renews leases and parks deliveries. */
const connections = 3;

/** Creates the dispatcher's own connection pool. */
export const createDispatcherPool = (databaseUrl: ServerUrl, logger: Logger): pg.Pool =>
  createPool({
    url: databaseUrl,
    size: connections,
    applicationName: 'perkwire-dispatcher',
    onError: (err) => logger.debug({ err }, 'dispatcher connection lost'),
    settings: plannerSettings,
  });

/** Dependencies of the dispatcher other than its pool. `now`: epoch milliseconds. */
export type DispatcherDeps = {
  config: Config;
  dbHealth: DatabaseHealth;
  logger: Logger;
  secretBox: SecretBox;
  tracing: Tracing;
  sender: Sender;
  activity: EndpointActivity;
  dispatcherMetrics: DispatcherMetrics;
  now: () => number;
};

/** Starts the dispatcher of this process, with its own pool. */
export async function startDispatcherJob(
  deps: DispatcherDeps,
  databaseUrl: ServerUrl,
): Promise<{ stop: () => Promise<void> }> {
  const { config, logger, sender, secretBox, dispatcherMetrics, now } = deps;
  const pool = createDispatcherPool(databaseUrl, logger);
  deps.dbHealth.onDown(() => breakConnections(pool));
  const dispatcher = await startDispatcher({
    pool,
    databaseUrl,
    logger,
    sender,
    secretBox,
    payloadLinks: createPayloadLinks(createSigner(config.tokenKeys, payloadLinkPurpose), config.publicUrl),
    concurrency: config.workerConcurrency,
    drainLimitMs: Math.min(longestCallMs, config.shutdownTimeoutMs / 2),
    now,
    random: Math.random,
    tracing: deps.tracing,
    meter: dispatcherMetrics.meter,
    onWritten: deps.activity.settled,
  });
  dispatcherMetrics.watchInFlight(dispatcher.inFlight);
  return {
    stop: async () => {
      await dispatcher.stop();
      await pool.end();
    },
  };
}
