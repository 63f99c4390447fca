import { setFlagsFromString } from 'node:v8';
import closeWithGrace from 'close-with-grace';
import { firstOperatorLink } from './accounts/operators.ts';
import { buildApp } from './app.ts';
import type { CatalogStore } from './catalog/store.ts';
import { exitCodes } from './command-line/command.ts';
import { ConfigError } from './config/config-error.ts';
import { type Config, loadConfig } from './config.ts';
import { embeddedDemo } from './demo/start.ts';
import { embeddedDatabases } from './embedded/databases.ts';
import { collectRestored } from './experiments/collect.ts';
import { createModules, type Modules } from './modules.ts';
import type { PerkMessages } from './perks/perk-messages.ts';
import type { EmbeddedDatabases } from './platform/db/embedded.ts';
import { migrate } from './platform/db/migrate.ts';
import { databaseWaitMs, retryStart } from './platform/db/retry-start.ts';
import { createServers, placeOf } from './platform/db/servers.ts';
import { openCheckedDatabase } from './platform/db/startup-checks.ts';
import { GeoError } from './platform/geo.ts';
import { createLogger, type Logger } from './platform/logger.ts';
import { checkSecrets, checkTokenKeys } from './platform/security/canary.ts';
import { StartupError } from './platform/startup-error.ts';
import { continueRestoredRollups } from './reports/restored.ts';
import { announceWait } from './runtime/announce-wait.ts';
import { requireEmbedded, startEmbedded } from './runtime/embedded-database.ts';
import { createJobMeter } from './runtime/job-meter.ts';
import { createParts, type Parts } from './runtime/parts.ts';
import { handledSignals, listen, onStopSignal, warnOfConnectionLimit } from './runtime/process.ts';
import { type PrimaryLink, primaryLink } from './runtime/processes/link.ts';
import { jobsOf, runJobs } from './runtime/run-jobs.ts';
import { embeddedSecrets } from './runtime/secrets.ts';

/*
 * While a server warms up, V8 learns that objects live long and allocates all of their kind in the old generation,
 * where each keeps what it refers to until a full collection: garbage collection then took a fifth of a fetch's time,
 * and memory grew by half.
 */
setFlagsFromString('--no-allocation-site-pretenuring');

/** Extra shutdown time of a primary, in milliseconds, so that its child processes can finish their requests first. */
const primaryMarginMs = 3000;

type DemoDeps = Modules['platform']['deps'] & { catalog: CatalogStore; perkMessages: PerkMessages | null };

/** Demo installation in the embedded database. */
type Demo = {
  /**
   * Loads the demo catalogue if it is missing.
   * @returns whether the catalogue was loaded by this call
   */
  start: (deps: DemoDeps) => Promise<boolean>;
  /** Fills the demo with activity and examples, unless that is done. */
  fill: (deps: DemoDeps & { signal: AbortSignal }) => Promise<void>;
  printWelcome: (
    config: Config,
    options: { dashboardLink: string | null; isJson: boolean; write: (text: string) => void },
  ) => void;
};

/** Optional parts of the program, which a build can leave out. */
const optional: { embedded?: EmbeddedDatabases; demo?: Demo } = {
  embedded: embeddedDatabases,
  demo: embeddedDemo,
};

/**
 * Runs the service until it receives a stop signal.
 * @throws ConfigError, GeoError, StartupError with a message for the operator
 */
async function main(): Promise<void> {
  const config = loadConfig(process.env, (dataDir) => {
    requireEmbedded(optional.embedded);
    return embeddedSecrets(dataDir);
  });
  const link = primaryLink(process);
  const isPrimary = link === null && config.processes > 1 && config.roles.includes('api');
  const logger = createLogger(config.logLevel).child(link === null ? {} : { pid: process.pid });
  process.once('exit', () => logger.flush());
  const parts = createParts(logger);
  const grace = closeWithGrace(
    {
      delay: config.shutdownTimeoutMs + (isPrimary ? primaryMarginMs : 0),
      skip: link !== null || isPrimary ? [...handledSignals, 'SIGHUP'] : handledSignals,
      logger: { error: (err) => logger.error({ err }, 'shutdown error') },
    },
    async ({ err }) => {
      if (err !== undefined) logger.fatal({ err }, 'unexpected error');
      await parts.stopAll();
      await link?.leave();
    },
  );
  if (link === null)
    onStopSignal(process, (signal) => {
      logger.info({ signal }, 'stopping');
      // Exit with an error code, so that commands waiting for the migrations do not continue before the migrations are
      // complete.
      if (config.roles.includes('migrate')) process.exit(exitCodes.stopped);
      grace.close();
    });
  else link.onStop(grace.close);
  try {
    if (!isPrimary) return await start(config, logger, parts, link);
    const { runPrimary } = await import('./runtime/processes/primary.ts');
    await runPrimary(process, config, logger, parts, optional.embedded);
  } catch (err) {
    await parts.stopAll();
    throw err;
  }
}

/** Starts all parts in order. If one fails, the caller stops those that were already started. */
async function start(config: Config, logger: Logger, parts: Parts, link: PrimaryLink | null): Promise<void> {
  const { roles, first, embeddedUrl } = link?.assignment ?? { roles: config.roles, first: true, embeddedUrl: null };
  config.roles = roles;
  const embedded = config.databaseUrl === null;
  const databases = embedded && embeddedUrl === null ? requireEmbedded(optional.embedded) : null;
  const database = databases && (await startEmbedded(databases, config, logger, parts));
  const databaseUrl = (config.databaseUrl ?? embeddedUrl ?? database?.url) as string;
  await retryStart(() => prepareDatabase(databaseUrl, config, logger));
  if (roles.includes('migrate')) return;

  const metricsPage = link?.metricsPage;
  const options = { config, databaseUrl, logger, now: Date.now, metricsPage, demo: embedded, pid: process.pid };
  const modules = await announceWait(logger, 'the catalogue', () => createModules(options));
  parts.add('modules', modules.close);
  const { deps } = modules.platform;
  await announceWait(logger, 'the secret check', async () => {
    await retryStart(() => checkSecrets(deps.pool, deps.secretBox, config.userPepper, config.earlierPeppers));
    await retryStart(() => checkTokenKeys(deps.pool, config.tokenKeys));
  });
  if (databases !== null && database !== null)
    parts.add('supervision of the embedded database', databases.supervise(database, deps));
  if (first && link !== null) await retryStart(() => warnOfConnectionLimit(deps, link.assignment.processes));
  const { demo } = optional;
  const { perkMessages } = modules.contributions;
  const demoDeps = { ...deps, catalog: modules.catalog.store, perkMessages };
  const firstStart =
    demo !== undefined &&
    embedded &&
    first &&
    (await announceWait(logger, 'the demo catalogue', () => retryStart(() => demo.start(demoDeps))));

  const serveApi = roles.includes('api');
  // When several processes share a port, a process without the role `api` must not listen, because it would receive API
  // requests.
  if (serveApi || link === null) await serve(modules, parts, serveApi);
  const background = await runJobs(
    jobsOf(modules.contributions, deps).filter((job) => job.roles.some((role) => roles.includes(role))),
    { ...deps, jobMeter: createJobMeter(deps.metrics.registry) },
  );
  parts.add('background jobs', background.stop);
  logger.info({ roles, port: config.port, embedded, firstStart }, 'ready');
  link?.ready();
  if (demo !== undefined && embedded && serveApi && first) {
    // Runs after the service is ready, so that filling the demo does not delay the first start. A shutdown waits for
    // the current step.
    const stopFilling = new AbortController();
    const welcomed = welcome(demo, { ...demoDeps, signal: stopFilling.signal });
    parts.add('welcome', () => {
      stopFilling.abort();
      return welcomed;
    });
    await welcomed;
  }
}

/** Prints the next steps and fills the demo. */
async function welcome(demo: Demo, deps: DemoDeps & { signal: AbortSignal }): Promise<void> {
  const dashboardLink = await retryStart(() => firstOperatorLink(deps.pool, deps.config.publicUrl, deps.now()));
  demo.printWelcome(deps.config, {
    dashboardLink,
    isJson: process.argv.includes('--json'),
    write: (text) => void process.stdout.write(text),
  });
  await demo.fill(deps).catch((err) => deps.logger.warn({ err }, 'filling the demo failed'));
}

/** Checks and migrates the schema on the server that is currently writable. After a failover, all checks run again. */
async function prepareDatabase(databaseUrl: string, config: Config, logger: Logger): Promise<void> {
  const places = createServers(databaseUrl).all.map(placeOf);
  const url = await announceWait(logger, `the database at ${places.join(', ')}`, () =>
    openCheckedDatabase(databaseUrl, databaseWaitMs, {
      allowNewer: config.allowNewerSchema,
    }),
  );
  const migrations = 'migrations, which take long or are locked by another process';
  const applied = await announceWait(logger, migrations, () => migrate(url));
  if (applied.length > 0) logger.info({ applied }, 'migrations applied');
  if (await continueRestoredRollups(url, collectRestored)) logger.info({}, 'rollups resumed after restore');
}

/**
 * Starts the HTTP server. Runs before any background work, so that a process whose port is taken exits without claiming
 * work.
 */
async function serve({ platform: { deps }, contributions }: Modules, parts: Parts, serveApi: boolean): Promise<void> {
  const app = await buildApp({ contributions, deps, serveApi });
  parts.add('http', () => app.close());
  await listen(app, deps.config);
}

/**
 * Returns the error message for an operator when the service cannot start. The stack trace of an unexpected error is
 * included only at log level `debug` or `trace`.
 */
function failureText(err: Error): string {
  if (err instanceof ConfigError || err instanceof GeoError || err instanceof StartupError) return err.message;
  if (process.env.LOG_LEVEL === 'debug' || process.env.LOG_LEVEL === 'trace') return err.stack ?? err.message;
  return `The service could not start: ${err.message}. Set LOG_LEVEL=debug for details.`;
}

main().catch((err: Error) => {
  process.stderr.write(`${failureText(err)}\n`);
  process.exit(1);
});
