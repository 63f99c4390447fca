import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { startLoop } from '../platform/lib/loop.ts';
import type { Deps } from './create-deps.ts';

/** How often a process says that it runs (milliseconds); after three times that, it does not. */
const stepMs = 5000;
export const heartbeatTimeoutMs = 3 * stepMs;

type PresenceDeps = Pick<Deps, 'pool' | 'catalog' | 'dbHealth' | 'logger' | 'now' | 'config'>;

/** Writes down that this process runs and which configuration it serves, for the operator's page. */
export function startHeartbeat(
  { pool, catalog, dbHealth, logger, now, config }: PresenceDeps,
  pid: number,
): { stop: () => Promise<void> } {
  const id = randomUUID();
  const startedAt = new Date(now());
  const rounds = startLoop(async () => {
    try {
      if (dbHealth.isUp())
        await pool.query({
          name: 'presence',
          text: `with gone as (delete from processes where seen_at < $6::timestamptz - interval '1 hour')
          insert into processes (id, host, pid, roles, catalog_version, started_at, seen_at) values ($1, $2, $3, $4, $5, $7, $6)
          on conflict (id) do update set catalog_version = excluded.catalog_version, seen_at = excluded.seen_at`,
          values: [id, hostname(), pid, config.roles, catalog.current().version, new Date(now()), startedAt],
        });
    } catch (err) {
      logger.debug({ err }, 'presence could not be written');
    }
    return stepMs;
  });

  return {
    stop: async () => {
      await rounds.stop();
      if (dbHealth.isUp()) await pool.query('delete from processes where id = $1', [id]);
    },
  };
}
