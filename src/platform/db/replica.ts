import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { Counter, Gauge, type Registry } from 'prom-client';
import { AppError } from '../errors.ts';
import { breakConnections, createPool, isDatabaseUnavailable } from './pool.ts';
import { createServers } from './servers.ts';

/** Why reports do not use the replica. */
type ReplicaProblem = 'unreachable' | 'behind' | 'promoted';

/** State of the replica. `asOfMs` is a time up to which it has all data, or null if no such time is known. */
export type ReplicaState = { problem: ReplicaProblem | null; asOfMs: number | null };

/** Replica from which reports are read (docs/operations.md#reports-on-a-replica). */
export type Replica = {
  state: () => ReplicaState;
  /**
   * Runs reads on the replica, or on the primary if the replica cannot be used or fails while they run. The work must
   * be repeatable.
   */
  read: <T>(work: (pool: pg.Pool) => Promise<T>) => Promise<T>;
  stop: () => Promise<void>;
};

type ReplicaOptions = {
  url: string;
  primary: pg.Pool;
  /** Returns the URL of the current primary. */
  primaryUrl: () => string;
  maxLagMs: number;
  now: () => number;
  fallbacks: ReplicaFallbacks;
  queryTimeoutMs?: number | undefined;
  onChange: (problem: ReplicaProblem | null) => void;
};

/** Number of connections to the replica, enough for five concurrent reports, their cancellations and the probe. */
const connections = 8;
const probeIntervalMs = 1000;
const probeTimeoutMs = 3000;
/** Maximum number of remembered positions of the primary. At one per second, they cover about an hour. */
const maxPositions = 4000;

/** SQLSTATE if a replica cancels a statement because the primary removed rows that the statement was reading. */
const recoveryConflict = '40001';

/** Position in the write-ahead log that the primary had reached at a time. */
type Position = { atMs: number; lsn: number };

/**
 * Connects to a replica and measures once a second how far it is behind. Records the primary's position in the
 * write-ahead log with the time, so that the lag is also correct if the replica is cut off from its primary or the
 * clocks differ. Never rejects: if the replica is unreachable, reports use the primary.
 */
export function openReplica(options: ReplicaOptions): Replica {
  const { primary, maxLagMs, now, fallbacks, onChange, queryTimeoutMs } = options;
  const { current: url } = createServers(options.url);
  const pool = createPool({
    url,
    size: connections,
    applicationName: 'perkwire-reports',
    onError: () => {},
    ...(queryTimeoutMs !== undefined && { queryTimeoutMs }),
  });
  let state: ReplicaState = { problem: 'unreachable', asOfMs: null };
  let positions: Position[] = [];
  let positionsOf = options.primaryUrl();
  let stopped = false;

  function set(next: ReplicaState): void {
    const { problem } = state;
    state = next;
    if (next.problem === problem || stopped) return;
    // Break running reports, which then run again on the primary.
    if (next.problem === 'unreachable' || next.problem === 'promoted') breakConnections(pool);
    onChange(next.problem);
  }

  async function notePosition(): Promise<void> {
    // After a failover, the replica may never reach positions of the previous primary.
    if (positionsOf !== options.primaryUrl()) positions = [];
    positionsOf = options.primaryUrl();
    const atMs = now();
    positions.push({ atMs, lsn: await readLsn(primary, 'pg_current_wal_lsn()') });
    if (positions.length > maxPositions) positions.shift();
  }

  async function probe(): Promise<void> {
    const { rows } = await withTimeout(
      pool.query<{ recovers: boolean; lsn: number | null }>(
        `select pg_is_in_recovery() as recovers, pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::float8 as lsn`,
      ),
    );
    const { recovers = false, lsn = null } = rows[0] ?? {};
    if (!recovers || lsn === null) return set({ problem: 'promoted', asOfMs: null });
    const reached = positions.findLast((position) => position.lsn <= lsn);
    // Only the latest reached position is needed from now on.
    if (reached !== undefined) positions = positions.slice(positions.indexOf(reached));
    const asOfMs = reached?.atMs ?? state.asOfMs;
    const isBehind = asOfMs === null || now() - asOfMs > maxLagMs;
    set({ problem: isBehind ? 'behind' : null, asOfMs });
  }

  async function run(): Promise<void> {
    while (!stopped) {
      const pause = sleep(probeIntervalMs, undefined, { ref: false });
      // Without the primary, the lag cannot be measured, so the last known time is kept and grows older.
      await notePosition().catch(() => {});
      await probe().catch(() => set({ problem: 'unreachable', asOfMs: state.asOfMs }));
      await pause;
    }
  }

  void run();
  return {
    state: () => state,
    read: async (work) => {
      if (state.problem !== null) {
        fallbacks.inc({ reason: state.problem });
        return work(primary);
      }
      try {
        return await work(pool);
      } catch (err) {
        if (!isReplicaFailure(err)) throw err;
        fallbacks.inc({ reason: 'failed' });
        return work(primary);
      }
    },
    stop: async () => {
      stopped = true;
      breakConnections(pool);
      await pool.end();
    },
  };
}

/** Whether the replica caused a read to fail, rather than the read itself. */
function isReplicaFailure(err: unknown): boolean {
  if (err instanceof AppError) return false;
  return isDatabaseUnavailable(err) || (err as { code?: unknown }).code === recoveryConflict;
}

async function readLsn(pool: pg.Pool, position: string): Promise<number> {
  const { rows } = await withTimeout(
    pool.query<{ lsn: number }>(`select pg_wal_lsn_diff(${position}, '0/0')::float8 as lsn`),
  );
  return rows[0]?.lsn as number;
}

/** Rejects if a query takes longer than the probe timeout. */
async function withTimeout<T>(query: Promise<T>): Promise<T> {
  const aborted = new AbortController();
  query.catch(() => {});
  const timeout = sleep(probeTimeoutMs, undefined, { signal: aborted.signal, ref: false }).then(() => {
    throw new Error('timeout: no answer');
  });
  timeout.catch(() => {});
  try {
    return await Promise.race([query, timeout]);
  } finally {
    aborted.abort();
  }
}

/** Counter of reads that used the primary although a replica is configured, by reason. */
type ReplicaFallbacks = Counter<'reason'>;

/**
 * Registers the metrics of the replica.
 * @param read returns the state of the replica, or null if none is configured
 */
export function registerReplicaMetrics(
  registry: Registry,
  read: () => ReplicaState | null,
  now: () => number,
): ReplicaFallbacks {
  const registers = [registry];
  new Gauge({
    name: 'perkwire_reports_replica_used',
    help: 'Whether reports are read from the replica (1), or from the primary because of a problem (0).',
    registers,
    aggregator: 'min',
    collect() {
      const state = read();
      if (state === null) this.remove();
      else this.set(state.problem === null ? 1 : 0);
    },
  });
  new Gauge({
    name: 'perkwire_reports_replica_lag_seconds',
    help: 'Age in seconds of the data on the replica. Absent until the replica has answered.',
    registers,
    aggregator: 'max',
    collect() {
      const asOfMs = read()?.asOfMs ?? null;
      if (asOfMs === null) this.remove();
      else this.set(Math.max(0, now() - asOfMs) / 1000);
    },
  });
  return new Counter({
    name: 'perkwire_reports_fallbacks_total',
    help: 'Number of reads of reports from the primary although a replica is configured, by reason.',
    labelNames: ['reason'],
    registers,
  });
}
