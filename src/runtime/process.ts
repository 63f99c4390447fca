import { ConfigError } from '../config/config-error.ts';
import type { Executor } from '../platform/db/pool.ts';
import { isPerkwireAt } from '../platform/health/probe.ts';
import type { App } from '../platform/http/app.ts';
import type { Logger } from '../platform/logger.ts';
import { flushConnections } from '../platform/module.ts';

/** Explanation and advice for `listen` errors, by system error code. */
const problems: Record<string, string> = {
  EADDRINUSE: 'is in use by another program. Set PORT to a free port',
  EADDRNOTAVAIL: 'is not an address of this host. Correct HOST',
  ENOTFOUND: 'is not an address of this host. Correct HOST',
  EACCES: 'requires more privileges. Set PORT to a port above 1023',
};

/**
 * Starts listening on an address.
 * @throws ConfigError if a different host or port would solve the problem
 */
export async function listen(app: Pick<App, 'listen'>, { host, port }: { host: string; port: number }): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (err) {
    const { code = '' } = err as NodeJS.ErrnoException;
    const problem = problems[code];
    if (problem === undefined) throw err;
    const ownUrl = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
    if (code === 'EADDRINUSE' && (await isPerkwireAt(ownUrl)))
      throw new ConfigError([`Perkwire already runs on port ${port}. To run it twice, set PORT to a free port`]);
    throw new ConfigError([`${host}:${port} ${problem}`]);
  }
}

const stopSignals = ['SIGTERM', 'SIGINT'] as const;

/**
 * Time in which repeated stop signals are ignored, in milliseconds. A process started by npm receives a single Ctrl-C
 * twice. Only a later signal requests an immediate exit.
 */
const repeatedSignalMs = 2000;

/** Calls `stop` on the first stop signal. A later signal exits with code 1. */
export function onStopSignal(
  target: Pick<NodeJS.Process, 'on' | 'exit'>,
  stop: (signal: NodeJS.Signals) => void,
): void {
  let firstMs: number | null = null;
  for (const name of stopSignals) {
    target.on(name, (signal) => {
      if (firstMs === null) {
        firstMs = performance.now();
        stop(signal);
      } else if (performance.now() - firstMs > repeatedSignalMs) target.exit(1);
    });
  }
}

/** Signals that `onStopSignal` handles, so that `closeWithGrace` ignores them. */
export const handledSignals: ('SIGTERM' | 'SIGINT')[] = [...stopSignals];

/** Number of database connections outside the pools, for health checks, the catalogue and the dispatcher. */
const otherConnections = 4;

type Deps = { pool: Executor; config: { databasePoolSize: number }; logger: Logger };

/** Warns if all processes together could open more connections than the database allows. */
export async function warnOfConnectionLimit({ pool, config, logger }: Deps, processes: number): Promise<void> {
  const needed = processes * (config.databasePoolSize + flushConnections + otherConnections);
  const { rows } = await pool.query<{ allowed: number }>(
    `select current_setting('max_connections')::int
      - current_setting('superuser_reserved_connections')::int as allowed`,
  );
  const { allowed } = rows[0] as { allowed: number };
  if (needed > allowed) logger.warn({ needed, allowed }, 'max_connections is too low for PROCESSES under load');
}
