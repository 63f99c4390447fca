import { randomInt } from 'node:crypto';
import type pg from 'pg';
import type { Executor } from '../../platform/db/pool.ts';
import { Connection } from '../../platform/db/pool.ts';
import type { ServerUrl } from '../../platform/db/servers.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Claimed } from './claim/claimed.ts';

/**
 * Time for which a lease remains valid after the deadline of its call, in milliseconds. It leaves time to store the
 * outcome.
 */
export const leaseGraceMs = 10_000;

/** Leases that a worker holds for calls in flight and for outcomes that have not been stored yet. */
export type Leases = {
  add: (claimed: Claimed) => void;
  remove: (claimed: Claimed) => void;
  all: () => Claimed[];
  /** Extends the leases that will expire soon, and returns them. The caller must then renew them in the database. */
  extendExpiring: () => Claimed[];
};

/**
 * Returns SQL that logs interrupted attempts. Other attempts are logged with their outcome. An interrupted attempt has
 * none, so it is logged when its lease ends.
 * @param leases SQL for rows of `delivery_queue` as they were when they were leased
 */
export const logInterrupted = (leases: string): string => `
  insert into delivery_attempts (day, delivery_id, generation, publisher_id, endpoint_id, started_at)
  select l.day, l.delivery_id, l.generation, e.publisher_id, e.id, coalesce(l.claimed_at, now())
  from (${leases}) l join webhook_endpoints e on e.id = l.endpoint_id
  on conflict (day, delivery_id, generation) do nothing`;

/** SQL condition for rows of `delivery_queue` whose attempt has started: leased ones, and those that were pulled. */
export const isStarted = (row: string): string =>
  `(${row}.lease_until is not null or ${row}.pull_position is not null)`;

/** Columns of `delivery_queue` that `logInterrupted` needs. */
export const interruptedColumns = 'delivery_id, day, generation, endpoint_id, claimed_at';

/**
 * Releases leases that this worker does not know of, because the connection was lost before it received the claim's
 * response. Otherwise, these leases would block their deliveries until they expire.
 */
export async function freeUnknownLeases(
  executor: Executor,
  workerId: number,
  knownLeases: readonly Claimed[],
): Promise<void> {
  await executor.query(
    `with freed as (
      update delivery_queue q set lease_until = null, worker_id = null
      where worker_id = $1 and not exists (
        select from unnest($2::uuid[], $3::int[]) as k (delivery_id, generation)
        where k.delivery_id = q.delivery_id and k.generation = q.generation
      )
      returning ${interruptedColumns}
    )
    ${logInterrupted('select * from freed')}`,
    [workerId, knownLeases.map(({ deliveryId }) => deliveryId), knownLeases.map(({ generation }) => generation)],
  );
}

/** Renews leases whose outcome has not been stored yet. Skips leases that other workers have taken over. */
export async function renewLeases(executor: Executor, workerId: number, leases: readonly Claimed[]): Promise<void> {
  await executor.query(
    `update delivery_queue q set lease_until = now() + ${leaseGraceMs} * interval '1 ms'
    from unnest($2::uuid[], $3::int[]) as l (delivery_id, generation)
    where q.delivery_id = l.delivery_id and q.generation = l.generation and q.worker_id = $1`,
    [workerId, leases.map(({ deliveryId }) => deliveryId), leases.map(({ generation }) => generation)],
  );
}

const reconnectMs = 250;
const sweepMs = 500;
/** Time after the first connection until a worker may take over expired leases, in milliseconds. */
const takeOverAfterMs = 1500;
/**
 * The same time after a reconnection, which also applies to leases of dead workers. It is longer than other workers
 * need to reconnect, even if their first attempt hangs until its timeout because its server has just failed.
 */
const takeOverAfterLossMs = 6000;
/** Time after which an unresponsive connection counts as broken, in milliseconds. */
const probeTimeoutMs = 3000;

export type Liveness = {
  /**
   * Returns the worker ID, or null while the worker cannot prove that it is alive. While it is null, the worker must
   * not claim deliveries.
   */
  workerId: () => number | null;
  /**
   * Whether expired leases of other workers may be taken over. This is not allowed right after connecting: PostgreSQL
   * may have restarted or failed over, and the other workers need a moment to renew their leases.
   */
  mayTakeOver: () => boolean;
  /** Gives up this worker's share of the endpoints, but keeps its leases. */
  retire: () => Promise<void>;
  /** Releases the remaining leases and the lock. */
  stop: () => Promise<void>;
};

type LivenessOptions = {
  databaseUrl: ServerUrl;
  logger: Logger;
  /**
   * Called when there may be deliveries to claim, which is the case after connecting and after the leases of a dead
   * worker were released.
   */
  onWork: () => void;
};

type State = LivenessOptions & {
  client: pg.Client | null;
  /** ID of this worker, or null while it is disconnected. */
  workerId: number | null;
  /** Worker ID used on the previous connection. The leases under this ID are adopted under the next ID. */
  lastId: number | null;
  connectedMs: number;
  /** Whether the current connection replaces one that was lost. */
  isReconnected: boolean;
  /** IDs of workers that were found without a lock in the last sweep. */
  suspects: ReadonlySet<number>;
  timer: NodeJS.Timeout | undefined;
  isStopped: boolean;
};

/**
 * Proves that this worker is alive by holding an advisory lock on its ID over a dedicated connection. Also releases the
 * leases of workers that have lost their lock. PostgreSQL releases the lock of a killed process immediately, so its
 * deliveries are taken over within two sweeps, long before their leases expire. One sweep is not enough: right after a
 * PostgreSQL restart, no worker holds its lock until it has reconnected under a new ID and adopted the leases for its
 * calls in flight. Resolves after the first connection attempt, even if it failed.
 */
export async function startLiveness(options: LivenessOptions): Promise<Liveness> {
  const state: State = {
    ...options,
    client: null,
    workerId: null,
    lastId: null,
    connectedMs: 0,
    isReconnected: false,
    suspects: new Set(),
    timer: undefined,
    isStopped: false,
  };
  await connect(state);
  return {
    workerId: () => state.workerId,
    mayTakeOver: () => connectedForMs(state) >= (state.isReconnected ? takeOverAfterLossMs : takeOverAfterMs),
    retire: async () => {
      const { client, workerId } = state;
      await client?.query('update dispatcher_workers set stopping = true where id = $1', [workerId]).catch(() => {});
    },
    stop: async () => {
      const { client, workerId } = state;
      state.isStopped = true;
      clearTimeout(state.timer);
      state.client = state.workerId = null;
      // Ignore errors: if this fails, the other workers will detect that this worker is dead.
      if (client !== null && workerId !== null) await freeLeases(client, [workerId]).catch(() => {});
      await client?.end().catch(() => {});
    },
  };
}

const connectedForMs = ({ connectedMs }: State): number => performance.now() - connectedMs;

async function connect(state: State): Promise<void> {
  const client = new Connection({
    server: state.databaseUrl,
    application_name: 'perkwire-worker',
    connectionTimeoutMillis: 2000,
    query_timeout: probeTimeoutMs,
    keepAlive: true,
  });
  state.client = client;
  client.on('error', () => disconnected(state, client));
  client.on('end', () => disconnected(state, client));
  try {
    await client.connect();
    const workerId = await lockNewId(client);
    await register(client, workerId, state.lastId);
    if (state.client !== client) return;
    state.logger.info({ workerId, previousId: state.lastId }, 'dispatcher connected');
    state.isReconnected = state.lastId !== null;
    state.lastId = state.workerId = workerId;
    state.connectedMs = performance.now();
    state.timer = setTimeout(sweep, sweepMs, state);
    state.onWork();
  } catch (err) {
    state.logger.debug({ err }, 'dispatcher connection failed');
    disconnected(state, client);
  }
}

function disconnected(state: State, client: pg.Client): void {
  if (state.client !== client) return;
  const { workerId } = state;
  if (workerId !== null) state.logger.warn({ workerId }, 'dispatcher lost its database connection');
  state.client = state.workerId = null;
  state.suspects = new Set();
  client.end().catch(() => {});
  clearTimeout(state.timer);
  if (!state.isStopped) state.timer = setTimeout(connect, reconnectMs, state);
}

/** Releases the leases of workers that have no lock now and had none in the last sweep. */
async function sweep(state: State): Promise<void> {
  const { client, logger } = state;
  if (client === null) return;
  try {
    const missing = await findDeadWorkers(client);
    const isEarly = state.isReconnected && connectedForMs(state) < takeOverAfterLossMs;
    const dead = isEarly ? [] : missing.filter((id) => state.suspects.has(id));
    state.suspects = new Set(missing);
    if (dead.length > 0) {
      const freed = await freeLeases(client, dead);
      logger.warn({ dead, freed }, 'leases of dead workers released');
      state.onWork();
    }
    if (state.client === client && !state.isStopped) state.timer = setTimeout(sweep, sweepMs, state);
  } catch (err) {
    logger.debug({ err }, 'checking for dead workers failed');
    disconnected(state, client);
  }
}

/** First key of the advisory locks that workers hold. The second key is the worker ID. */
export const workerLockClass = 1_886_544_747;

/** Locks an unused worker ID. IDs come from a secure random source, because two workers must never have the same ID. */
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
 * Registers the worker once it holds its lock. The worker adopts and extends the leases that it held under its previous
 * ID.
 */
async function register(client: pg.Client, id: number, previousId: number | null): Promise<void> {
  // TCP keep-alives detect a lost connection within about 11 s, but have no effect on Unix sockets.
  await client.query('set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3');
  await client.query(
    `with previous as (delete from dispatcher_workers where id = $2),
      adopted as (
        update delivery_queue
        set worker_id = $1, lease_until = greatest(lease_until, now() + ${leaseGraceMs} * interval '1 ms')
        where worker_id = $2
      )
    insert into dispatcher_workers (id) values ($1)`,
    [id, previousId],
  );
}

/** Returns the IDs of registered workers that do not hold their lock. */
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

/** Releases the leases of these workers and deletes the workers' rows. Returns the number of leases. */
async function freeLeases(client: pg.Client, workerIds: readonly number[]): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `with removed as (
      delete from dispatcher_workers where id = any($1)
    ), freed as (
      update delivery_queue set lease_until = null, worker_id = null where worker_id = any($1)
      returning ${interruptedColumns}
    ), logged as (
      ${logInterrupted('select * from freed')}
    )
    select count(*)::int as count from freed`,
    [workerIds],
  );
  return rows[0]?.count ?? 0;
}
