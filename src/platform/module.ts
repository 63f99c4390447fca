import type pg from 'pg';
import type { Config } from '../config.ts';
import { type BatchMeters, createBatchMeters } from './db/batch.ts';
import { type DatabaseHealth, startDatabaseHealth } from './db/health.ts';
import { registerDatabaseMetrics } from './db/metrics.ts';
import { ensurePartitions } from './db/partitions.ts';
import { breakConnections, createPool } from './db/pool.ts';
import { openReplica, type Replica, registerReplicaMetrics } from './db/replica.ts';
import { retryStart } from './db/retry-start.ts';
import { createServers } from './db/servers.ts';
import { type Geo, loadGeo } from './geo.ts';
import type { App } from './http/app.ts';
import { createFailureLimit, type FailureLimit } from './http/failure-limit.ts';
import { hourly, type Job } from './jobs.ts';
import type { Logger } from './logger.ts';
import { createMailer, type Mailer } from './mailer.ts';
import { createMetrics, type Metrics, type MetricsPage } from './metrics/metrics.ts';
import { metricsRoutes } from './metrics/routes.ts';
import { createSecretBox, type SecretBox } from './security/secret-box.ts';
import { createSigner, createTokenCodec, type TokenCodec } from './security/tracking-token.ts';
import { createTracing } from './tracing/create-tracing.ts';
import type { Tracing } from './tracing/tracing.ts';

/**
 * Number of database connections for batches, in addition to DATABASE_POOL_SIZE. Most kinds of batches use at most two
 * at a time.
 */
export const flushConnections = 8;

/** Platform options. The optional ones have defaults. */
export type PlatformOptions = {
  queryTimeoutMs?: number;
  config: Config;
  databaseUrl: string;
  logger: Logger;
  now: () => number;
  /** Builds the metrics page. By default, it contains only the metrics of this process. */
  metricsPage?: MetricsPage | undefined;
};

/** Services that the platform provides to modules. */
type PlatformServices = {
  config: Config;
  pool: pg.Pool;
  /** Connection pool for batches. A connection is closed if a statement on it takes longer than COMMIT_TIMEOUT_MS. */
  flushPool: pg.Pool;
  dbHealth: DatabaseHealth;
  /** Replica for reports, or null if DATABASE_REPORTS_URL is not set. */
  replica: Replica | null;
  logger: Logger;
  failures: FailureLimit;
  tokens: TokenCodec;
  secretBox: SecretBox;
  /** Mailer, or null if SMTP_URL is not set. */
  mailer: Mailer | null;
  /** Metrics of this process, exposed if METRICS_TOKEN is set. */
  metrics: Metrics;
  batchMeters: BatchMeters;
  tracing: Tracing;
  geo: Geo;
  /** Returns the current time, in epoch milliseconds. */
  now: () => number;
};

export type Platform = Awaited<ReturnType<typeof createPlatform>>;

/** Creates the platform module: database, HTTP, security, metrics and languages, with all migrations applied. */
export async function createPlatform({
  config,
  databaseUrl,
  logger,
  now,
  metricsPage,
  ...poolOptions
}: PlatformOptions) {
  const geo = await loadGeo(config.geoipDb, logger);
  const database = await openDatabase({ config, databaseUrl, logger, now, ...poolOptions });
  const { dbHealth, pool, flushPool } = database;
  await retryStart(() => ensurePartitions(pool, now()));
  const tracing = await createTracing(config.tracing, (err) => logger.warn({ err }, 'sending traces failed'));
  const mailer = config.mail === null ? null : createMailer(config.mail);
  const metrics = createMetrics({ isShown: config.metricsToken !== null, pageOf: metricsPage });
  registerDatabaseMetrics(metrics.registry, { requests: pool, batches: flushPool }, dbHealth);
  let replica: Replica | null = null;
  const fallbacks = registerReplicaMetrics(metrics.registry, () => replica?.state() ?? null, now);
  if (config.reportsUrl !== null)
    replica = openReplica({
      url: config.reportsUrl,
      primary: pool,
      primaryUrl: database.url,
      maxLagMs: config.reportsMaxLagMs,
      now,
      fallbacks,
      queryTimeoutMs: poolOptions.queryTimeoutMs,
      onChange: (problem) =>
        problem === null
          ? logger.info({}, 'reports use the replica')
          : logger.warn({ problem }, 'reports use the primary'),
    });
  const deps: PlatformServices = {
    config,
    pool,
    flushPool,
    dbHealth,
    replica,
    logger,
    geo,
    tracing,
    mailer,
    metrics,
    now,
    failures: createFailureLimit(now),
    tokens: createTokenCodec(createSigner(config.tokenKeys, 'tracking-token')),
    secretBox: createSecretBox(config.secretsKey, config.earlierSecretsKeys),
    batchMeters: createBatchMeters(metrics.registry),
  };
  const partitions: Job = {
    name: 'partitions',
    ...hourly,
    locks: partitionLock,
    run: () => ensurePartitions(pool, now()),
  };
  return {
    name: 'platform',
    rank: 10,
    deps,
    /** URL of the writable server, for connections outside the pools. */
    databaseUrl: database.url,
    probes: async (app: App) => {
      await app.register(metricsRoutes, deps);
    },
    jobs: () => [partitions],
    close: async (): Promise<void> => {
      await tracing.close();
      await mailer?.close();
      await replica?.stop();
      await dbHealth.stop();
      await flushPool.end();
      await pool.end();
    },
  };
}

/** Description of the advisory lock that must be held to change partitions. */
export const partitionLock = "advisory lock 'perkwire_partitions'";

/** Opens the connection pools, and creates the database health to which all connections report. */
async function openDatabase({
  config,
  databaseUrl,
  logger,
  now,
  ...poolOptions
}: Omit<PlatformOptions, 'metricsPage'>) {
  const onError = (err: Error): void => logger.debug({ err }, 'database connection lost');
  const servers = createServers(databaseUrl);
  const dbHealth = await startDatabaseHealth({
    servers,
    commitTimeoutMs: config.commitTimeoutMs,
    now,
    onClockSkew: (skewMs) => logger.warn({ skewMs: Math.round(skewMs) }, 'clocks of this host and the database differ'),
    onTimelineBack: (since) =>
      logger.error({ since }, 'new primary is on an earlier timeline; recent writes may be lost'),
    onChange: (up, reason) =>
      up ? logger.info({}, 'database available') : logger.error({ reason: reason?.message }, 'database unavailable'),
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
  return { url: servers.current, dbHealth, pool, flushPool };
}
