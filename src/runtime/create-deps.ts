import { findCaller } from '../accounts/caller.ts';
import { createLiveUsage } from '../budgets/live-usage.ts';
import { createSlices } from '../budgets/slices.ts';
import type { CatalogDeps } from '../catalog/ports.ts';
import { startCatalogStore } from '../catalog/snapshot/store.ts';
import type { Config } from '../config.ts';
import { buildIndex } from '../decision/index/build-index.ts';
import { createModelSource } from '../learning/source.ts';
import { createLiveCalls } from '../offers/live-calls/live-calls.ts';
import { createNotices } from '../offers/notices/notices.ts';
import { createOutcomeSampler } from '../offers/outcomes/sampler.ts';
import { startDatabaseHealth } from '../platform/db/health.ts';
import { ensurePartitions } from '../platform/db/partitions.ts';
import { breakConnections, createPool, type PoolOptions } from '../platform/db/pool.ts';
import { retryStart } from '../platform/db/retry-start.ts';
import { createServers, type ServerUrl } from '../platform/db/servers.ts';
import { loadGeo } from '../platform/geo.ts';
import { createAuthenticator } from '../platform/http/auth.ts';
import { createFailureLimit } from '../platform/http/failure-limit.ts';
import type { Logger } from '../platform/logger.ts';
import { createMailer } from '../platform/mailer.ts';
import type { MetricsPage } from '../platform/metrics/metrics.ts';
import { createSigner } from '../platform/security/keyring.ts';
import { createSecretBox } from '../platform/security/secret-box.ts';
import { createTokenCodec } from '../platform/security/tracking-token.ts';
import { createTracing } from '../platform/tracing/create-tracing.ts';
import { userAgent } from '../platform/version.ts';
import { openEventLog } from '../tracking/log/event-log.ts';
import type { TrackingDeps } from '../tracking/ports.ts';
import { createEndpointActivity } from '../webhooks/activity/activity.ts';
import { parseNets } from '../webhooks/dispatcher/send/address-guard.ts';
import { createSender } from '../webhooks/dispatcher/send/sender.ts';
import type { WebhookDeps } from '../webhooks/ports.ts';
import { createMeters } from './create-meters.ts';
import type { JobMeter } from './job-meter.ts';

/** Every port of every room. */
export type Deps = CatalogDeps &
  TrackingDeps &
  WebhookDeps & {
    jobMeter: JobMeter;
    /** Where a connection outside of the pools goes: to the writable server. */
    databaseUrl: ServerUrl;
  };

type DepsInput = Pick<PoolOptions, 'queryTimeoutMs'> & {
  /** Default: the metrics of this process alone. */
  metricsPage?: MetricsPage | undefined;
  config: Config;
  databaseUrl: string;
  logger: Logger;
  now: () => number;
};

/** Connections for batches, beside DATABASE_POOL_SIZE (count). Most kinds of batches have two in flight at most. */
export const flushConnections = 8;

/** What is known, and leased, of the totals of campaigns. */
function createTotals(options: Pick<Deps, 'pool' | 'catalog' | 'logger' | 'now'>): Pick<Deps, 'usage' | 'slices'> {
  const usage = createLiveUsage(options);
  return { usage, slices: createSlices({ ...options, usage }) };
}

/** Opens what every role needs, against a database whose migrations are applied. `close` ends it again. */
export async function createDeps({
  config,
  databaseUrl,
  logger,
  now,
  metricsPage,
  ...poolOptions
}: DepsInput): Promise<{ deps: Deps; close: () => Promise<void> }> {
  const geo = await loadGeo(config.geoipDb, logger);
  const { servers, dbHealth, pool, flushPool } = await openDatabase({
    config,
    databaseUrl,
    logger,
    now,
    ...poolOptions,
  });
  await retryStart(() => ensurePartitions(pool, now()));
  const catalog = await retryStart(() =>
    startCatalogStore({ pool, databaseUrl: servers.current, logger, buildIndex, now }),
  );
  const sender = createSender({
    allowNets: parseNets(config.webhookAllowNets),
    allowHttp: config.webhookAllowHttp,
    proxy: config.webhookProxy,
    userAgent,
    now: () => performance.now(),
  });
  const tracing = await createTracing(config.tracing, (err) => logger.warn({ err }, 'traces could not be sent'));
  const eventLog = config.eventLog === null ? null : await openEventLog(config.eventLog, logger);
  const deps: Deps = {
    config,
    pool,
    flushPool,
    databaseUrl: servers.current,
    dbHealth,
    catalog,
    logger,
    auth: createAuthenticator({ findKey: (secret) => findCaller(catalog.current(), secret, now()), now }),
    failures: createFailureLimit(now),
    geo,
    ...createTotals({ pool, catalog, logger, now }),
    model: createModelSource({ pool, catalog, now }),
    notices: createNotices(now),
    liveCalls: createLiveCalls(now),
    activity: createEndpointActivity(now),
    eventLog,
    eventsStoredUntil: eventLog === null ? now : () => Math.min(now(), eventLog.storedUntil()),
    outcomes: createOutcomeSampler({ now, durationMs: () => performance.now() }),
    tokens: createTokenCodec(createSigner(config.tokenKeys, 'tracking-token')),
    mailer: config.mail === null ? null : createMailer(config.mail),
    secretBox: createSecretBox(config.secretsKey, config.earlierSecretsKeys),
    ...createMeters({
      isShown: config.metricsToken !== null,
      ...{ metricsPage, pool, flushPool, dbHealth, catalog, eventLog, now },
    }),
    sender,
    tracing,
    now,
  };
  const close = async (): Promise<void> => {
    await sender.close();
    await eventLog?.close();
    await tracing.close();
    await deps.mailer?.close();
    await catalog.stop();
    await dbHealth.stop();
    await flushPool.end();
    await pool.end();
  };
  return { deps, close };
}

/** The pools, and the health that every connection reports to. */
async function openDatabase({ config, databaseUrl, logger, now, ...poolOptions }: Omit<DepsInput, 'metricsPage'>) {
  const onError = (err: Error): void => logger.debug({ err }, 'a database connection broke');
  const servers = createServers(databaseUrl);
  const dbHealth = await startDatabaseHealth({
    servers,
    commitTimeoutMs: config.commitTimeoutMs,
    now,
    onClockSkew: (skewMs) =>
      logger.warn({ skewMs: Math.round(skewMs) }, 'the clocks of this machine and of the database differ'),
    onChange: (up, reason) =>
      up
        ? logger.info({}, 'the database is available')
        : logger.error({ reason: reason?.message }, 'the database is unavailable'),
  });
  const options = { url: servers.current, applicationName: 'perkwire', onError, onAnswer: dbHealth.sawAnswer };
  const pool = createPool({ ...options, size: config.databasePoolSize, ...poolOptions });
  const flushPool = createPool({
    ...options,
    size: flushConnections,
    queryTimeoutMs: config.commitTimeoutMs,
    ...poolOptions,
  });
  dbHealth.onDown(() => {
    breakConnections(pool);
    breakConnections(flushPool);
  });
  return { servers, dbHealth, pool, flushPool };
}
