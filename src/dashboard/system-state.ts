import type pg from 'pg';
import { type FeedState, readFeedState } from '../accounts/audit-feed.ts';
import { type LearningState, readLearningState } from '../learning/health.ts';
import type { Executor } from '../platform/db/pool.ts';
import { heartbeatTimeoutMs } from './heartbeat.ts';

export type RunningProcess = {
  host: string;
  pid: number;
  roles: string[];
  catalogVersion: number;
  startedAt: Date;
  seenAt: Date;
  /** Whether the last heartbeat is recent enough for the process to count as running. */
  isRunning: boolean;
};
/** Daily partitions of a table. `first` and `last` are days in the form yyyymmdd. */
export type Partitions = { table: string; count: number; first: string; last: string; bytes: number };
export type Queue = { lane: string; waiting: number; due: number };

export type SystemState = {
  database: { version: string; bytes: number };
  catalogVersion: number;
  processes: RunningProcess[];
  partitions: Partitions[];
  queues: Queue[];
  /** State of the audit log export to syslog, or null if it is not configured. */
  syslog: FeedState | null;
  learning: LearningState;
};

/** Maximum number of delivery queue rows to count. Limits the time that the page takes if a queue is long. */
const maxCounted = 100_000;
const maxProcesses = 200;

/** Reads the state of the installation for the operators' system page. */
export async function readSystem(executor: pg.Pool, nowMs: number): Promise<SystemState> {
  const [database, processes, partitions, queues, syslog, learning] = await Promise.all([
    readDatabase(executor),
    readProcesses(executor, nowMs),
    readPartitions(executor),
    readQueues(executor, nowMs),
    readFeedState(executor, 'syslog', maxCounted),
    readLearningState(executor, nowMs),
  ]);
  return { ...database, processes, partitions, queues, syslog, learning };
}

async function readDatabase(
  executor: Executor,
): Promise<{ database: { version: string; bytes: number }; catalogVersion: number }> {
  const { rows } = await executor.query<{ version: string; bytes: string; catalog_version: string }>(
    `select current_setting('server_version') as version,
      pg_database_size(current_database())::text as bytes,
      (select version from catalog_version)::text as catalog_version`,
  );
  const [row] = rows;
  return {
    database: { version: row?.version ?? '', bytes: Number(row?.bytes) },
    catalogVersion: Number(row?.catalog_version),
  };
}

type ProcessRow = {
  host: string;
  pid: number;
  roles: string[];
  catalog_version: string;
  started_at: Date;
  seen_at: Date;
};

async function readProcesses(executor: Executor, nowMs: number): Promise<RunningProcess[]> {
  const { rows } = await executor.query<ProcessRow>(
    `select host, pid, roles, catalog_version, started_at, seen_at
    from processes order by started_at limit ${maxProcesses}`,
  );
  return rows.map(({ host, pid, roles, ...row }) => ({
    host,
    pid,
    roles,
    catalogVersion: Number(row.catalog_version),
    startedAt: row.started_at,
    seenAt: row.seen_at,
    isRunning: nowMs - row.seen_at.getTime() < heartbeatTimeoutMs,
  }));
}

async function readPartitions(executor: Executor): Promise<Partitions[]> {
  const { rows } = await executor.query<Omit<Partitions, 'bytes'> & { bytes: string }>(
    `select p.relname as table, count(*)::int as count,
      min(right(c.relname, 8)) as first, max(right(c.relname, 8)) as last,
      sum(pg_total_relation_size(c.oid))::text as bytes
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    join pg_class p on p.oid = i.inhparent
    where p.relkind = 'p' and p.relnamespace = 'public'::regnamespace and c.relkind = 'r'
    group by p.relname order by p.relname`,
  );
  return rows.map((row) => ({ ...row, bytes: Number(row.bytes) }));
}

async function readQueues(executor: Executor, nowMs: number): Promise<Queue[]> {
  const { rows } = await executor.query<Queue>(
    `select lane, count(*)::int as waiting, (count(*) filter (where due_at <= $1))::int as due
    from (select lane, due_at from delivery_queue limit ${maxCounted}) q
    group by lane order by lane`,
    [new Date(nowMs)],
  );
  return rows;
}
