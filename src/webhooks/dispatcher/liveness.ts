import type pg from 'pg';
import { Connection } from '../../platform/db/connection.ts';
import type { ServerUrl } from '../../platform/db/servers.ts';
import type { Logger } from '../../platform/logger.ts';
import { findDeadWorkers, freeLeases, lockNewId, register } from './worker-registry.ts';

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
   * Whether expired leases may be taken over. Not right after a connect: PostgreSQL may have restarted, and the other
   * workers need a moment to renew theirs.
   */
  mayTakeOver: () => boolean;
  /** Leaves this worker's share of the endpoints to the others. It keeps its leases. */
  retire: () => Promise<void>;
  /** Frees the remaining leases and the lock. */
  stop: () => Promise<void>;
};

type LivenessOptions = {
  databaseUrl: ServerUrl;
  logger: Logger;
  /** There may be something to claim: the worker is connected, or leases of a dead one were freed. */
  onWork: () => void;
};

type State = LivenessOptions & {
  client: pg.Client | null;
  /** null while not connected. */
  workerId: number | null;
  /** The id of the last connection; its leases are adopted by the next. */
  lastId: number | null;
  connectedMs: number;
  /** Workers without their lock at the last sweep. */
  suspects: ReadonlySet<number>;
  timer: NodeJS.Timeout | undefined;
  isStopped: boolean;
};

/**
 * Proves that this worker lives by an advisory lock on its id, taken by its own connection, and frees the leases of
 * workers whose lock is gone. PostgreSQL drops the lock of a killed process at once, so its deliveries are taken over
 * within two sweeps, long before their leases expire. Two, because after a restart of PostgreSQL no worker has its lock
 * yet: each needs the time to reconnect, under a new id, and to adopt the leases of its calls in flight.
 * Resolves after the first attempt to connect, whether or not it succeeded.
 */
export async function startLiveness(options: LivenessOptions): Promise<Liveness> {
  const state: State = {
    ...options,
    client: null,
    workerId: null,
    lastId: null,
    connectedMs: 0,
    suspects: new Set(),
    timer: undefined,
    isStopped: false,
  };
  await connect(state);
  return {
    workerId: () => state.workerId,
    mayTakeOver: () => performance.now() - state.connectedMs >= takeOverAfterMs,
    retire: async () => {
      const { client, workerId } = state;
      await client?.query('update dispatcher_workers set stopping = true where id = $1', [workerId]).catch(() => {});
    },
    stop: async () => {
      const { client, workerId } = state;
      state.isStopped = true;
      clearTimeout(state.timer);
      state.client = state.workerId = null;
      // Where this fails, the other workers find it dead.
      if (client !== null && workerId !== null) await freeLeases(client, [workerId]).catch(() => {});
      await client?.end().catch(() => {});
    },
  };
}

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
    state.lastId = state.workerId = workerId;
    state.connectedMs = performance.now();
    state.timer = setTimeout(sweep, sweepMs, state);
    state.onWork();
  } catch (err) {
    state.logger.debug({ err }, 'dispatcher not connected');
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

/** Frees the leases of workers that had no lock at the last sweep and have none now. */
async function sweep(state: State): Promise<void> {
  const { client, logger } = state;
  if (client === null) return;
  try {
    const missing = await findDeadWorkers(client);
    const dead = missing.filter((id) => state.suspects.has(id));
    state.suspects = new Set(missing);
    if (dead.length > 0) {
      const freed = await freeLeases(client, dead);
      logger.warn({ dead, freed }, 'leases of dead workers were freed');
      state.onWork();
    }
    if (state.client === client && !state.isStopped) state.timer = setTimeout(sweep, sweepMs, state);
  } catch (err) {
    logger.debug({ err }, 'dead workers not checked');
    disconnected(state, client);
  }
}
