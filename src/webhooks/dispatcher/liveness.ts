import { randomInt } from 'node:crypto';
import pg from 'pg';
import type { Logger } from '../../platform/logger.ts';
import { leaseGraceMs } from './claim/lease.ts';

/** First key of the advisory locks of workers; the second is the worker's id. */
export const workerLockClass = 1_886_544_747;

const reconnectMs = 250;
const sweepMs = 500;
/** Longer than a worker takes to reconnect (milliseconds). */
const takeOverAfterMs = 1500;
/** A connection that takes longer than this to answer counts as broken (milliseconds). */
const probeTimeoutMs = 3000;

export type Liveness = {
  /** null while the worker cannot prove that it lives; then it must not claim. */
  workerId: () => number | null;
  /**
   * Whether ended leases may be taken over. Not right after a connect: PostgreSQL may have restarted, and the other
   * workers need a moment to renew theirs.
   */
  mayTakeOver: () => boolean;
  /** Leaves this worker's share of the endpoints to the others. It keeps its leases. */
  retire: () => Promise<void>;
  /** Frees the remaining leases and the lock. */
  stop: () => Promise<void>;
};

type LivenessOptions = {
  databaseUrl: string;
  logger: Logger;
  /** There may be something to claim: the worker is connected, or leases of a dead one were freed. */
  onWork: () => void;
};

/**
 * Proves that this worker lives by an advisory lock on its id, held by a connection of its own, and frees the leases of
 * workers whose lock is gone. PostgreSQL drops the lock of a killed process at once, so its deliveries are taken over
 * within two sweeps, long before their leases end. Two, because after a restart of PostgreSQL no worker has its lock
 * yet: each needs the time to come back, under a new id, and to adopt the leases of its calls in flight.
 * Resolves after the first attempt to connect, whether or not it succeeded.
 */
export async function startLiveness({ databaseUrl, logger, onWork }: LivenessOptions): Promise<Liveness> {
  let client: pg.Client | null = null;
  let workerId: number | null = null;
  let lastId: number | null = null;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let connectedMs = 0;
  let suspects = new Set<number>();

  function lost(from: pg.Client): void {
    if (client !== from) return;
    client = null;
    if (workerId !== null) logger.warn({ workerId }, 'dispatcher lost its database connection');
    workerId = null;
    suspects = new Set();
    from.end().catch(() => {});
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(connect, reconnectMs);
  }

  async function connect(): Promise<void> {
    const fresh = new pg.Client({
      connectionString: databaseUrl,
      application_name: 'perkwire-worker',
      connectionTimeoutMillis: 2000,
      query_timeout: probeTimeoutMs,
      keepAlive: true,
    });
    client = fresh;
    fresh.on('error', () => lost(fresh));
    fresh.on('end', () => lost(fresh));
    try {
      await fresh.connect();
      const id = await lockNewId(fresh);
      await register(fresh, id, lastId);
      if (client !== fresh) return;
      logger.info({ workerId: id, previousId: lastId }, 'dispatcher connected');
      lastId = workerId = id;
      connectedMs = performance.now();
      timer = setTimeout(sweep, sweepMs);
      onWork();
    } catch (err) {
      logger.debug({ err }, 'dispatcher not connected');
      lost(fresh);
    }
  }

  async function sweep(): Promise<void> {
    const current = client;
    if (current === null) return;
    try {
      const missing = await findDeadWorkers(current);
      const dead = missing.filter((id) => suspects.has(id));
      suspects = new Set(missing);
      if (dead.length > 0) {
        const freed = await freeLeases(current, dead);
        logger.warn({ dead, freed }, 'leases of dead workers were freed');
        onWork();
      }
      if (client === current && !stopped) timer = setTimeout(sweep, sweepMs);
    } catch (err) {
      logger.debug({ err }, 'dead workers not checked');
      lost(current);
    }
  }

  await connect();
  return {
    workerId: () => workerId,
    mayTakeOver: () => performance.now() - connectedMs >= takeOverAfterMs,
    retire: async () => {
      await client?.query('update dispatcher_workers set stopping = true where id = $1', [workerId]).catch(() => {});
    },
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      const last = client;
      const id = workerId;
      client = workerId = null;
      if (last !== null && id !== null) await freeLeases(last, [id]).catch(() => {}); // else the others find it dead
      await last?.end().catch(() => {});
    },
  };
}

/** Locks an id that is not in use. Ids come from a secure random source: two workers must never share one. */
async function lockNewId(client: pg.Client): Promise<number> {
  for (;;) {
    const id = randomInt(1, 2 ** 31 - 1);
    const { rows } = await client.query<{ ok: boolean }>('select pg_try_advisory_lock($1, $2) as ok', [
      workerLockClass,
      id,
    ]);
    if (rows[0]?.ok) return id;
  }
}

/**
 * Registers the worker, after it has its lock. Leases under its previous id become its own again and are extended.
 */
async function register(client: pg.Client, id: number, previousId: number | null): Promise<void> {
  // A peer that vanished is noticed by its keep-alives within about 11 s, not on Unix sockets.
  await client.query('set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3');
  await client.query(
    `with former as (delete from dispatcher_workers where id = $2),
      adopted as (
        update delivery_queue set worker_id = $1, lease_until = greatest(lease_until,
          now() + ${leaseGraceMs} * interval '1 ms') where worker_id = $2
      )
    insert into dispatcher_workers (id) values ($1)`,
    [id, previousId],
  );
}

/** Registered workers without their lock. */
async function findDeadWorkers(client: pg.Client): Promise<number[]> {
  const { rows } = await client.query<{ id: number }>({
    name: 'dispatcher-dead',
    text: `select w.id from dispatcher_workers w where not exists (
      select from pg_locks l
      where l.locktype = 'advisory' and l.database = (select oid from pg_database where datname = current_database())
        and l.classid = $1::int::oid and l.objid = w.id::oid and l.objsubid = 2 and l.granted
    )`,
    values: [workerLockClass],
  });
  return rows.map((row) => row.id);
}

/** Frees the leases of these workers and removes them. */
async function freeLeases(client: pg.Client, workerIds: readonly number[]): Promise<number> {
  const { rowCount } = await client.query(
    `with removed as (delete from dispatcher_workers where id = any($1))
    update delivery_queue set lease_until = null, worker_id = null where worker_id = any($1)`,
    [workerIds],
  );
  return rowCount ?? 0;
}
