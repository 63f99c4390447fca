import type { Config } from '../../config.ts';
import type { Executor } from '../../platform/db/pool.ts';
import type { Logger } from '../../platform/logger.ts';
import { flushConnections } from '../../platform/room.ts';

/** Beside the pools: health, catalogue and dispatcher (count). */
const otherConnections = 4;

type Deps = { pool: Executor; config: Pick<Config, 'databasePoolSize'>; logger: Pick<Logger, 'warn'> };

/** Warns where so many processes could open more connections than the database allows. */
export async function warnOfConnectionLimit({ pool, config, logger }: Deps, processes: number): Promise<void> {
  const needed = processes * (config.databasePoolSize + flushConnections + otherConnections);
  const { rows } = await pool.query<{ allowed: number }>(
    `select current_setting('max_connections')::int
      - current_setting('superuser_reserved_connections')::int as allowed`,
  );
  const { allowed } = rows[0] as { allowed: number };
  if (needed > allowed)
    logger.warn({ needed, allowed }, 'under load PROCESSES need more connections than max_connections allows');
}
