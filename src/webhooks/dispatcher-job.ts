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
import { setLocalWorker } from './outbox.ts';
import { createPayloadLinks, payloadLinkPurpose } from './payload-link.ts';
import type { Sender } from './sender.ts';
import type { Transformer } from './transformations/transform.ts';

/**
 * Maximum duration of a webhook call, in milliseconds. A worker that stops waits for calls in flight, as far as the
 * shutdown timeout allows.
 */
const longestCallMs = 20_000;

/**
 * Planner settings for the dispatcher's prepared statements, which are planned only once. Each statement should read a
 * few rows by index, regardless of the table size. Without these settings, a plan made while the queue was empty would
 * scan the whole queue after it has grown. With a new plan for each call, a claim would spend more time on planning
 * than on execution.
 */
const plannerSettings = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_bitmapscan: 'off',
  jit: 'off',
};

/**
 * Numbers of connections: one for claims, one for settlements, and one for renewing leases and parking deliveries.
 * Claims have their own pool, so that only one connection has to plan them. With a shared pool, every connection had to
 * plan them at some time, which delayed a delivery by up to 50 ms.
 */
const connections = { claims: 1, others: 2 };

/** Creates a connection pool of the dispatcher. */
export const createDispatcherPool = (databaseUrl: ServerUrl, logger: Logger, use: keyof typeof connections): pg.Pool =>
  createPool({
    url: databaseUrl,
    size: connections[use],
    applicationName: 'perkwire-dispatcher',
    onError: (err) => logger.debug({ err }, 'dispatcher connection lost'),
    settings: plannerSettings,
  });

/** Dependencies of the dispatcher other than its pool. `now` returns epoch milliseconds. */
export type DispatcherDeps = {
  config: Config;
  dbHealth: DatabaseHealth;
  logger: Logger;
  secretBox: SecretBox;
  tracing: Tracing;
  sender: Sender;
  transformer: Transformer;
  activity: EndpointActivity;
  dispatcherMetrics: DispatcherMetrics;
  now: () => number;
};

/** Starts the dispatcher of this process with its own connection pool. */
export async function startDispatcherJob(
  deps: DispatcherDeps & { pool: pg.Pool },
  databaseUrl: ServerUrl,
): Promise<{ stop: () => Promise<void> }> {
  const { config, logger, sender, transformer, secretBox, dispatcherMetrics, now } = deps;
  const pool = createDispatcherPool(databaseUrl, logger, 'others');
  const claimPool = createDispatcherPool(databaseUrl, logger, 'claims');
  deps.dbHealth.onDown(() => {
    breakConnections(pool);
    breakConnections(claimPool);
  });
  const dispatcher = await startDispatcher({
    pool,
    claimPool,
    databaseUrl,
    logger,
    sender,
    transformer,
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
  setLocalWorker(deps.pool, dispatcher.localWorker);
  return {
    stop: async () => {
      setLocalWorker(deps.pool, null);
      await dispatcher.stop();
      await Promise.all([pool.end(), claimPool.end()]);
    },
  };
}
