import type { Executor } from '../../../platform/db/pool.ts';
import { heartbeatTimeoutMs } from '../../../runtime/heartbeat.ts';

export type RunningProcess = {
  host: string;
  pid: number;
  roles: string[];
  catalogVersion: number;
  startedAt: Date;
  seenAt: Date;
  present: boolean;
};
export type Partitions = { table: string; count: number; first: string; last: string; bytes: number };
export type Queue = { lane: string; waiting: number; due: number };

export type SystemState = {
  database: { version: string; bytes: number };
  catalogVersion: number;
  processes: RunningProcess[];
  partitions: Partitions[];
  queues: Queue[];
};

/** Deliveries of a queue that are counted (count). */
export const maxCounted = 100_000;

/** How the installation is, for its operator. */
export async function readSystem(executor: Executor, nowMs: number): Promise<SystemState> {
  const [database, processes, partitions, queues] = await Promise.all([
    executor.query<{ version: string; bytes: string; catalog_version: string }>(
      `select current_setting('server_version') as version, pg_database_size(current_database())::text as bytes,
        (select version from catalog_version)::text as catalog_version`,
    ),
    executor.query<{
      host: string;
      pid: number;
      roles: string[];
      catalog_version: string;
      started_at: Date;
      seen_at: Date;
    }>('select host, pid, roles, catalog_version, started_at, seen_at from processes order by started_at limit 200'),
    executor.query<{ table: string; count: number; first: string; last: string; bytes: string }>(
      `select p.relname as table, count(*)::int as count, min(right(c.relname, 8)) as first, max(right(c.relname, 8)) as last,
        sum(pg_total_relation_size(c.oid))::text as bytes
      from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
      where p.relkind = 'p' and p.relnamespace = 'public'::regnamespace and c.relkind = 'r' group by p.relname order by p.relname`,
    ),
    executor.query<Queue>(
      `select lane, count(*)::int as waiting, (count(*) filter (where due_at <= $1))::int as due
      from (select lane, due_at from delivery_queue limit ${maxCounted}) q group by lane order by lane`,
      [new Date(nowMs)],
    ),
  ]);
  const [row] = database.rows;
  return {
    database: { version: row?.version ?? '', bytes: Number(row?.bytes) },
    catalogVersion: Number(row?.catalog_version),
    processes: processes.rows.map((one) => ({
      host: one.host,
      pid: one.pid,
      roles: one.roles,
      catalogVersion: Number(one.catalog_version),
      startedAt: one.started_at,
      seenAt: one.seen_at,
      present: nowMs - one.seen_at.getTime() < heartbeatTimeoutMs,
    })),
    partitions: partitions.rows.map((one) => ({ ...one, bytes: Number(one.bytes) })),
    queues: queues.rows,
  };
}
