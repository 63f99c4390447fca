import { setFlagsFromString } from 'node:v8';
import closeWithGrace from 'close-with-grace';
import { buildApp } from './app.ts';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { firstOperatorLink } from './dashboard/auth/first-operator.ts';
import { startDemo } from './embedded/demo/start.ts';
import { printWelcome } from './embedded/demo/welcome.ts';
import { GeoError } from './offers/context/geo.ts';
import { migrate } from './platform/db/migrate.ts';
import { createLogger, type Logger } from './platform/logger.ts';
import { createDeps } from './runtime/create-deps.ts';
import { createJobs } from './runtime/jobs.ts';
import { listen } from './runtime/listen.ts';
import { runJobs } from './runtime/run-jobs.ts';
import { embeddedSecrets } from './runtime/secrets.ts';
import { sealStoredHeaders } from './webhooks/endpoints/secrets.ts';

/*
 * V8 notices that objects live long while a server warms up (fetches wait for QR codes to be made), and from then on
 * makes
 * all of their kind in the old generation, where each keeps what it refers to until a full collection. Then garbage
 * collection took a fifth of a fetch, and memory grew by half.
 */
setFlagsFromString('--no-allocation-site-pretenuring');

/** A part of the process with what ends it; parts end in the reverse order of their start. */
type Part = { name: string; stop: () => Promise<unknown> };

async function main(): Promise<void> {
  const config = loadConfig(process.env, embeddedSecrets);
  const logger = createLogger(config.logLevel);
  const parts: Part[] = [];
  const stopAll = async (): Promise<void> => {
    for (const { name, stop } of parts.splice(0).reverse()) {
      await stop().catch((err) => logger.error({ err, part: name }, 'a part did not stop cleanly'));
      logger.debug({ part: name }, 'stopped');
    }
  };
  const grace = closeWithGrace(
    {
      delay: config.shutdownTimeoutMs,
      skip: [...stopSignals],
      logger: { error: (err) => logger.error({ err }, 'closing') },
    },
    async ({ err }) => {
      if (err !== undefined) logger.fatal({ err }, 'unexpected failure');
      await stopAll();
    },
  );
  onStopSignal((signal) => {
    logger.info({ signal }, 'stopping');
    grace.close();
  });
  try {
    await start(config, logger, parts);
  } catch (err) {
    await stopAll();
    throw err;
  }
}

const stopSignals = ['SIGTERM', 'SIGINT'] as const;

/** One Ctrl-C reaches a process started by npm twice. Only a signal that comes later means: stop at once. */
const repeatedSignalMs = 2000;

function onStopSignal(stop: (signal: NodeJS.Signals) => void): void {
  let firstMs: number | null = null;
  for (const name of stopSignals) {
    process.on(name, (signal) => {
      if (firstMs === null) {
        firstMs = performance.now();
        stop(signal);
      } else if (performance.now() - firstMs > repeatedSignalMs) process.exit(1);
    });
  }
}

async function start(config: Config, logger: Logger, parts: Part[]): Promise<void> {
  const embedded = config.databaseUrl === null;
  const databaseUrl = config.databaseUrl ?? (await startEmbedded(config, logger, parts));
  const applied = await migrate(databaseUrl);
  if (applied.length > 0) logger.info({ applied }, 'migrations applied');
  if (config.roles.includes('migrate')) return;

  const { deps, close } = await createDeps({ config, databaseUrl, logger, now: Date.now });
  parts.push({ name: 'database', stop: close });
  await sealStoredHeaders(deps.pool, deps.secretBox);
  const firstStart = embedded && (await startDemo(deps));

  const serveApi = config.roles.includes('api');
  const app = await buildApp(deps, { serveApi, demoReceiver: embedded });
  parts.push({ name: 'http', stop: () => app.close() });
  const jobs = createJobs({ ...deps, databaseUrl, pid: process.pid });
  const background = await runJobs(
    jobs.filter((job) => job.roles.some((role) => config.roles.includes(role))),
    deps,
  );
  parts.push({ name: 'background jobs', stop: background.stop });
  await listen(app, config);
  logger.info({ roles: config.roles, port: config.port, embedded, firstStart }, 'ready');
  if (embedded && serveApi) {
    const dashboardLink = await firstOperatorLink(deps.pool, config.publicUrl, deps.now());
    printWelcome(config, dashboardLink, (text) => process.stdout.write(text));
  }
}

async function startEmbedded(config: Config, logger: Logger, parts: Part[]): Promise<string> {
  const { startEmbeddedPostgres } = await import('./embedded/postgres/index.ts');
  const database = await startEmbeddedPostgres({ dataDir: config.dataDir, log: (line) => logger.info({}, line) });
  parts.push({ name: 'embedded database', stop: database.stop });
  // The demo's receiver is on this machine.
  config.webhookAllowNets = [config.webhookAllowNets, '127.0.0.0/8', '::1/128'].filter((nets) => nets !== '').join(',');
  config.webhookAllowHttp = true;
  return database.url;
}

main().catch((err: Error) => {
  process.stderr.write(
    `${err instanceof ConfigError || err instanceof GeoError ? err.message : (err.stack ?? err.message)}\n`,
  );
  process.exit(1);
});
