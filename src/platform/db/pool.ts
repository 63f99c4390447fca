import { Socket } from 'node:net';
import pg from 'pg';
import { Connection, type ConnectionOptions } from './connection.ts';
import type { ServerUrl } from './servers.ts';

/** Anything that runs a statement: a pool or one connection inside a transaction. */
export type Executor = Pick<pg.Pool, 'query'>;

export type PoolOptions = {
  url: ServerUrl;
  size: number;
  applicationName: string;
  onError: (err: Error) => void;
  /** A statement that takes longer than this ends its connection (milliseconds). Default: 10 s. */
  queryTimeoutMs?: number;
} & Pick<ConnectionOptions, 'settings' | 'onAnswer'>;

const defaultQueryTimeoutMs = 10_000;

/**
 * How long a new connection, or the wait for a free one, may take (milliseconds). A busy machine makes both long
 * without anything being wrong; when the database is unavailable `breakConnections` ends the first, `createFailFast`
 * and the batchers the second.
 */
const connectTimeoutMs = 10_000;

const socketsOf = new WeakMap<pg.Pool, Set<Socket>>();

/** A pool of connections. Errors of idle connections go to `onError`; the pool recovers by itself. */
export function createPool(options: PoolOptions): pg.Pool {
  const { url, size, applicationName, onError, queryTimeoutMs = defaultQueryTimeoutMs, settings, onAnswer } = options;
  const sockets = new Set<Socket>();
  const connectionOptions: Pick<ConnectionOptions, 'server' | 'settings' | 'onAnswer'> = {
    server: url,
    ...(settings === undefined ? {} : { settings }),
    ...(onAnswer === undefined ? {} : { onAnswer }),
  };
  const pool = new pg.Pool({
    ...connectionOptions,
    Client: Connection as unknown as new () => pg.ClientBase, // pg hands it all of these options
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once('close', () => sockets.delete(socket));
    },
    max: size,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
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

/** An open transaction. */
export type Transaction = Executor & {
  /** Called once after the commit, with the transaction's pool; not when it is rolled back. Must not throw. */
  onCommit: (run: (pool: pg.Pool) => void) => void;
};

const isTransaction = (executor: Executor): executor is Transaction => 'onCommit' in executor;

/** Runs `run` once what `executor` wrote is committed: now, where it is no transaction. */
export function whenCommitted(executor: Executor, run: () => void): void {
  if (isTransaction(executor)) executor.onCommit(run);
  else run();
}

/** Runs `work` in one transaction: committed when it resolves, rolled back when it throws. */
export async function transaction<T>(pool: pg.Pool, work: (executor: Transaction) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  const committed: ((pool: pg.Pool) => void)[] = [];
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const query: Executor['query'] = client.query.bind(client);
    const result = await work({ query, onCommit: (run) => committed.push(run) });
    await client.query('commit');
    for (const run of committed) run(pool);
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

/** Runs `work` in one transaction that only reads, and sees one moment. */
export const readTransaction = <T>(pool: pg.Pool, work: (executor: Executor) => Promise<T>): Promise<T> =>
  transaction(pool, async (executor) => {
    await executor.query('set transaction isolation level repeatable read, read only');
    return work(executor);
  });

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
 * driver errors), or not vouch for it, in contrast to an invalid statement. The outcome of a write is then unknown.
 */
export function isDatabaseUnavailable(err: unknown): boolean {
  if (!(err instanceof Error)) return false;
  const { code } = err as { code?: unknown };
  if (typeof code === 'string') return connectionCodes.has(code) || /^(08|40003|53|57|58|25006|XX)/.test(code);
  return /timeout|terminated|connection|not queryable|after calling end/i.test(err.message);
}
