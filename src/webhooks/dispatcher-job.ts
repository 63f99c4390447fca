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

/** The longest call of an endpoint (milliseconds): a stopping worker lets it end if the shutdown limit allows. */
const longestCallMs = 20_000;

/**
 * The dispatcher's statements are planned once: a handful of rows, each found by an index, however large the tables
 * grow. Planned for the sizes of the moment, they would read a whole queue that was empty when the plan was made;
 * planned each time, a claim spends more time on its plan than on its work.
 */
const plannerSettings = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_bitmapscan: 'off',
  jit: 'off',
};

/** One claims while another settles; one renews leases and parks (count). */
const connections = 3;

/** The pool of the dispatcher alone. */
export const createDispatcherPool = (databaseUrl: ServerUrl, logger: Logger): pg.Pool =>
  createPool({
    url: databaseUrl,
    size: connections,
    applicationName: 'perkwire-dispatcher',
    onError: (err) => logger.debug({ err }, 'dispatcher connection lost'),
    settings: plannerSettings,
  });

/** What the dispatcher works with beside its pool. `now`: epoch milliseconds. */
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

/** Starts the dispatcher of this process, with a pool of its own. */
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
