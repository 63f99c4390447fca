import { setFlagsFromString } from 'node:v8';
import closeWithGrace from 'close-with-grace';
import { buildApp } from './app.ts';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { firstOperatorLink } from './dashboard/auth/first-operator.ts';
import { writeHistory } from './embedded/demo/history/write-history.ts';
import { startDemo } from './embedded/demo/start.ts';
import { printWelcome } from './embedded/demo/welcome.ts';
import type { EmbeddedPostgres } from './embedded/postgres/index.ts';
import { superviseEmbedded } from './embedded/postgres/supervise.ts';
import { GeoError } from './offers/context/geo.ts';
import { migrate } from './platform/db/migrate.ts';
import { openCheckedDatabase } from './platform/db/startup-checks.ts';
import { createLogger, type Logger } from './platform/logger.ts';
import { checkSecrets } from './platform/security/canary.ts';
import { StartupError } from './platform/startup-error.ts';
import { createDeps } from './runtime/create-deps.ts';
import { createJobs } from './runtime/jobs.ts';
import { listen } from './runtime/listen.ts';
import { createParts, type Parts } from './runtime/parts.ts';
import { runJobs } from './runtime/run-jobs.ts';
import { embeddedSecrets } from './runtime/secrets.ts';
import { handledSignals, onStopSignal } from './runtime/signals.ts';

/*
 * While a server warms up, V8 learns that objects live long and allocates all of their kind in the old generation,
 * where each keeps what it refers to until a full collection: garbage collection then took a fifth of a fetch's time,
 * and memory grew by half.
 */
setFlagsFromString('--no-allocation-site-pretenuring');

/** How long a database that does not answer yet is waited for (milliseconds). */
const databaseWaitMs = 30_000;

/** Runs the service until a stop signal. @throws ConfigError, GeoError, StartupError with a message for the operator */
async function main(): Promise<void> {
  const config = loadConfig(process.env, embeddedSecrets);
  const logger = createLogger(config.logLevel);
  const parts = createParts(logger);
  const grace = closeWithGrace(
    {
      delay: config.shutdownTimeoutMs,
      skip: handledSignals,
      logger: { error: (err) => logger.error({ err }, 'closing') },
    },
    async ({ err }) => {
      if (err !== undefined) logger.fatal({ err }, 'unexpected failure');
      await parts.stopAll();
    },
  );
  onStopSignal(process, (signal) => {
    logger.info({ signal }, 'stopping');
    grace.close();
  });
  try {
    await start(config, logger, parts);
  } catch (err) {
    await parts.stopAll();
    throw err;
  }
}

/** The start order; the first failure stops what was started. */
async function start(config: Config, logger: Logger, parts: Parts): Promise<void> {
  const embedded = config.databaseUrl === null;
  const database = embedded ? await startEmbedded(config, logger, parts) : null;
  const databaseUrl = config.databaseUrl ?? (database as EmbeddedPostgres).url;
  const applied = await migrate(await openCheckedDatabase(databaseUrl, databaseWaitMs));
  if (applied.length > 0) logger.info({ applied }, 'migrations applied');
  if (config.roles.includes('migrate')) return;

  const { deps, close } = await createDeps({ config, databaseUrl, logger, now: Date.now });
  parts.add('database', close);
  await checkSecrets(deps.pool, deps.secretBox, config.userPepper, config.earlierPeppers);
  if (database !== null) parts.add('supervision of the embedded database', superviseEmbedded(database, deps));
  const firstStart = embedded && (await startDemo(deps));

  const serveApi = config.roles.includes('api');
  const app = await buildApp(deps, { serveApi, demoReceiver: embedded });
  parts.add('http', () => app.close());
  // Before any work begins: a process whose port is taken claims nothing.
  await listen(app, config);
  const jobs = createJobs({ ...deps, pid: process.pid });
  const background = await runJobs(
    jobs.filter((job) => job.roles.some((role) => config.roles.includes(role))),
    deps,
  );
  parts.add('background jobs', background.stop);
  logger.info({ roles: config.roles, port: config.port, embedded, firstStart }, 'ready');
  if (embedded && serveApi) {
    // After readiness: a first start need not wait for it.
    await writeHistory(deps).catch((err) => logger.warn({ err }, 'the history of the demo was not made up'));
    const dashboardLink = await firstOperatorLink(deps.pool, config.publicUrl, deps.now());
    printWelcome(config, dashboardLink, (text) => process.stdout.write(text));
  }
}

async function startEmbedded(config: Config, logger: Logger, parts: Parts): Promise<EmbeddedPostgres> {
  const { startEmbeddedPostgres } = await import('./embedded/postgres/index.ts');
  const database = await startEmbeddedPostgres({ dataDir: config.dataDir, log: (line) => logger.info({}, line) });
  parts.add('embedded database', database.stop);
  // The demo's receiver is on this machine.
  config.webhookAllowNets = [config.webhookAllowNets, '127.0.0.0/8', '::1/128'].filter((nets) => nets !== '').join(',');
  config.webhookAllowHttp = true;
  return database;
}

/** What an operator reads when the service cannot start; where from is for who asks. */
function failureText(err: Error): string {
  if (err instanceof ConfigError || err instanceof GeoError || err instanceof StartupError) return err.message;
  if (process.env.LOG_LEVEL === 'debug' || process.env.LOG_LEVEL === 'trace') return err.stack ?? err.message;
  return `The service could not start: ${err.message}. LOG_LEVEL=debug shows where this came from.`;
}

main().catch((err: Error) => {
  process.stderr.write(`${failureText(err)}\n`);
  process.exit(1);
});
