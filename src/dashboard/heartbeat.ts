import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type pg from 'pg';
import type { CatalogStore } from '../catalog/store.ts';
import type { Config } from '../config.ts';

/** Heartbeat interval, in milliseconds. A process counts as stopped after three missed heartbeats. */
export const heartbeatMs = 5000;
export const heartbeatTimeoutMs = 3 * heartbeatMs;

const beatSql = `
with gone as (delete from processes where seen_at < $6::timestamptz - interval '1 hour')
insert into processes (id, host, pid, roles, catalog_version, started_at, seen_at)
values ($1, $2, $3, $4, $5, $7, $6)
on conflict (id) do update set catalog_version = excluded.catalog_version, seen_at = excluded.seen_at`;

type HeartbeatDeps = { pool: pg.Pool; catalog: CatalogStore; now: () => number; config: Config; pid: number };

/**
 * Creates the heartbeat, which records that this process is running and which catalogue version it serves. The
 * operators' system page shows both.
 */
export function createHeartbeat({ pool, catalog, now, config, pid }: HeartbeatDeps): {
  beat: () => Promise<void>;
  remove: () => Promise<void>;
} {
  const id = randomUUID();
  const startedAt = new Date(now());
  return {
    beat: async () => {
      const { version } = catalog.current();
      await pool.query({
        name: 'heartbeat',
        text: beatSql,
        values: [id, hostname(), pid, config.roles, version, new Date(now()), startedAt],
      });
    },
    remove: async () => {
      await pool.query('delete from processes where id = $1', [id]);
    },
  };
}
