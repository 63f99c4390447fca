import type { Config, Role } from '../../config.ts';
import type { EmbeddedDatabases } from '../../platform/db/embedded.ts';
import { startDatabaseHealth } from '../../platform/db/health.ts';
import { createServers } from '../../platform/db/servers.ts';
import type { Logger } from '../../platform/logger.ts';
import { requireEmbedded, startEmbedded } from '../embedded-database.ts';
import type { Parts } from '../parts.ts';
import { startChild } from './child.ts';
import type { Assignment } from './messages.ts';
import { createMetricsHub } from './metrics-hub.ts';
import { createSupervisor, type Supervisor } from './supervisor.ts';

/**
 * Runs `PROCESSES` child processes with the role `api` on one port, and one with the role `worker` if `ROLES` includes
 * it. The primary does not serve requests. It distributes connections and runs the embedded database.
 * @throws StartupError if the first process exits before it is ready, or if a process repeatedly exits right after its
 * start
 */
export async function runPrimary(
  target: Pick<NodeJS.Process, 'on'>,
  config: Config,
  logger: Logger,
  parts: Parts,
  embedded: EmbeddedDatabases | undefined,
): Promise<void> {
  let supervisor: Supervisor | null = null;
  target.on('SIGHUP', () => void supervisor?.replaceAll());
  const embeddedUrl =
    config.databaseUrl === null
      ? await startSupervisedDatabase(requireEmbedded(embedded), config, logger, parts)
      : null;
  const hub = createMetricsHub();
  supervisor = createSupervisor({
    assignments: assignmentsOf(config, embeddedUrl),
    start: (assignment) => {
      const child = startChild(assignment);
      hub.add(child);
      return child;
    },
    shutdownTimeoutMs: config.shutdownTimeoutMs,
    logger,
  });
  parts.add('processes', supervisor.stop);
  const outcome = await supervisor.start();
  if (outcome === 'ready') logger.info({ processes: config.processes, port: config.port }, 'all processes ready');
  await supervisor.gaveUp;
}

/** The first process has the role `api`, so that a port conflict is found before any background work starts. */
function assignmentsOf({ roles, processes }: Config, embeddedUrl: string | null) {
  const background = roles.filter((role) => role !== 'api');
  const places: (readonly Role[])[] = [...Array<readonly Role[]>(processes).fill(['api'])];
  if (background.length > 0) places.push(background);
  return places.map(
    (assigned, index): Assignment => ({ roles: assigned, first: index === 0, processes: places.length, embeddedUrl }),
  );
}

async function startSupervisedDatabase(
  embedded: EmbeddedDatabases,
  config: Config,
  logger: Logger,
  parts: Parts,
): Promise<string> {
  const database = await startEmbedded(embedded, config, logger, parts);
  const dbHealth = await startDatabaseHealth({
    servers: createServers(database.url),
    commitTimeoutMs: config.commitTimeoutMs,
    now: Date.now,
    onChange: (up) => logger.debug({ up }, 'embedded database state changed'),
  });
  parts.add('health of the embedded database', dbHealth.stop);
  parts.add('supervision of the embedded database', embedded.supervise(database, { dbHealth, logger }));
  return database.url;
}
