import { Socket } from 'node:net';
import pg from 'pg';
import { QueryTimeoutClient } from './query-timeout-client.ts';

/** Anything that runs a statement: a pool or one connection inside a transaction. */
export type Executor = Pick<pg.Pool, 'query'>;

export type PoolOptions = {
  url: string;
  size: number;
  applicationName: string;
  onError: (err: Error) => void;
  /** Settings of PostgreSQL for each connection, such as `{ jit: 'off' }`. */
  settings?: Record<string, string>;
  /** A statement that takes longer than this ends its connection (milliseconds). */
  queryTimeoutMs?: number;
};

const defaultQueryTimeoutMs = 10_000;

/**
 * The server rolls back a transaction that is idle for this long, so that a frozen process does not keep its row locks
 * (milliseconds).
 */
const idleInTransactionTimeoutMs = 5_000;

/** How long a new connection may take (milliseconds). */
const connectTimeoutMs = 2_000;

const socketsOf = new WeakMap<pg.Pool, Set<Socket>>();

/** A pool of connections. Errors of idle connections go to `onError`; the pool recovers by itself. */
export function createPool({
  url,
  size,
  applicationName,
  onError,
  settings = {},
  queryTimeoutMs = defaultQueryTimeoutMs,
}: PoolOptions): pg.Pool {
  const sockets = new Set<Socket>();
  const pool = new pg.Pool({
    Client: QueryTimeoutClient,
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once('close', () => sockets.delete(socket));
    },
    connectionString: url,
    max: size,
    application_name: applicationName,
    options: Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
  });
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', onError));
  socketsOf.set(pool, sockets);
  return pool;
}

/**
 * Breaks every connection of a pool; it opens new ones when they are needed. For a database that became unavailable: a
 * connection to a lost machine would block its user until the query timeout.
 */
export function breakConnections(pool: pg.Pool): void {
  for (const socket of socketsOf.get(pool) ?? []) socket.destroy();
}

/** Runs `work` in one transaction: committed when it resolves, rolled back when it throws. */
export async function transaction<T>(pool: pg.Pool, work: (executor: Executor) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (err) {
    await client.query('rollback').catch((rollbackErr: Error) => {
      broken = rollbackErr;
    });
    throw err;
  } finally {
    client.release(broken);
  }
}

const connectionCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
]);

/**
 * Whether an error means that the database could not be reached or could not finish (SQLSTATE classes 08, 53, 57 and
 * driver errors), in contrast to an invalid statement. The outcome of a write is then unknown.
 */
export function isDatabaseUnavailable(err: unknown): boolean {
  if (!(err instanceof Error)) return false;
  const { code } = err as { code?: unknown };
  if (typeof code === 'string') return connectionCodes.has(code) || /^(08|53|57|58|25006|XX)/.test(code);
  return /timeout|terminated|connection|not queryable|after calling end/i.test(err.message);
}
