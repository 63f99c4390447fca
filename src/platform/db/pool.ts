import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import { type ServerUrl, urlOf } from './servers.ts';
import { applySettings, sessionSettings } from './session-settings.ts';
import { type Tls, tlsOf, withoutTls } from './tls.ts';

/** Runs statements on a pool, or on one connection in a transaction. */
export type Executor = Pick<pg.Pool, 'query'>;

export type PoolOptions = {
  url: ServerUrl;
  size: number;
  applicationName: string;
  onError: (err: Error) => void;
  /** Time after which a running statement's connection is closed, in milliseconds. Default: 10 s. */
  queryTimeoutMs?: number;
} & Pick<ConnectionOptions, 'settings' | 'onAnswer' | 'signal'>;

const defaultQueryTimeoutMs = 10_000;

/**
 * Timeout for opening a connection or waiting for a free one, in milliseconds. It is long, because both can be slow on
 * a busy machine without an error. When the database becomes unavailable, `breakConnections` ends the former, and
 * `createFailFast` and the batchers end the latter.
 */
const connectTimeoutMs = 10_000;

/**
 * Maximum lifetime of a connection, in seconds. It is limited because some statements contain a date, and PostgreSQL
 * caches their plans for as long as the connection is open.
 */
const lifetimeS = 86_400;

const socketsOf = new WeakMap<pg.Pool, Set<Socket>>();

/** Creates a connection pool. Errors of idle connections are passed to `onError`. The pool recovers on its own. */
export function createPool(options: PoolOptions): pg.Pool {
  const { url, size, applicationName, onError, queryTimeoutMs = defaultQueryTimeoutMs } = options;
  const { settings, onAnswer, signal } = options;
  const sockets = new Set<Socket>();
  const connectionOptions: Pick<ConnectionOptions, 'server' | 'settings' | 'onAnswer' | 'signal'> = {
    server: url,
    signal,
    ...(settings === undefined ? {} : { settings }),
    ...(onAnswer === undefined ? {} : { onAnswer }),
  };
  const pool = new pg.Pool({
    ...connectionOptions,
    Client: Connection as unknown as new () => pg.ClientBase, // pg passes all of these options
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
    maxLifetimeSeconds: lifetimeS,
    keepAlive: true,
  });
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', onError));
  socketsOf.set(pool, sockets);
  return pool;
}

/**
 * Breaks all connections of a pool. The pool opens new ones on demand. Used when the database becomes unavailable,
 * because a connection to an unreachable machine would block its user until the query timeout.
 */
export function breakConnections(pool: pg.Pool): void {
  for (const socket of socketsOf.get(pool) ?? []) socket.destroy();
}

/** Open transaction. */
export type Transaction = Executor & {
  /**
   * Registers a function to call once with the pool after the commit. It is not called after a rollback. It must not
   * throw.
   */
  onCommit: (run: (pool: pg.Pool) => void) => void;
};

const isTransaction = (executor: Executor): executor is Transaction => 'onCommit' in executor;

/**
 * Calls `run` after the transaction of `executor` has been committed, or immediately if `executor` is not a
 * transaction.
 */
export function whenCommitted(executor: Executor, run: () => void): void {
  if (isTransaction(executor)) executor.onCommit(run);
  else run();
}

/** Runs `work` in a transaction. It is committed when `work` resolves, and rolled back when `work` throws. */
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

/** Runs `work` in a read-only transaction with a consistent snapshot. */
export const readTransaction = <T>(pool: pg.Pool, work: (executor: Executor) => Promise<T>): Promise<T> =>
  transaction(pool, async (executor) => {
    await executor.query('set transaction isolation level repeatable read, read only');
    return work(executor);
  });

/** Number of rows to read per slice. Processing them takes a few milliseconds. */
const sliceSize = 500;

/**
 * Yields the rows that a statement returns, in slices, using a cursor. Requires a transaction, in which only one
 * statement can be read this way at a time.
 */
export async function* readSlices<Row extends object = Record<string, unknown>>(
  executor: Executor,
  text: string,
  values: unknown[],
): AsyncGenerator<Row[]> {
  await executor.query(`declare slices no scroll cursor for ${text}`, values);
  for (;;) {
    const { rows } = await executor.query(`fetch ${sliceSize} from slices`);
    if (rows.length > 0) yield rows as Row[];
    if (rows.length < sliceSize) break;
  }
  await executor.query('close slices');
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
 * Whether an error means that the database was unreachable, could not finish (SQLSTATE classes 08, 53, 57 and driver
 * errors), or could not confirm the result. In this case, the outcome of a write is unknown. Returns false for an error
 * in the statement itself.
 */
export function isDatabaseUnavailable(err: unknown): boolean {
  if (!(err instanceof Error)) return false;
  const { code } = err as { code?: unknown };
  if (typeof code === 'string') return connectionCodes.has(code) || /^(08|40003|53|57|58|25006|XX)/.test(code);
  return /timeout|terminated|connection|not queryable|after calling end/i.test(err.message);
}

export type ConnectionOptions = Omit<pg.ClientConfig, 'connectionString'> & {
  server: ServerUrl;
  /** PostgreSQL settings in addition to `sessionSettings`, such as `{ jit: 'off' }`. */
  settings?: Record<string, string>;
  /** Called for each response from the server. */
  onAnswer?: () => void;
  /** Breaks the connection when aborted, and prevents it from being opened if already aborted. */
  signal?: AbortSignal | undefined;
  /** TLS options. Default: the options of the last successful connection. */
  tls?: Tls;
};

/**
 * PostgreSQL function that waits for replicas. It identifies the warning, because its name is never translated, unlike
 * the warning text.
 */
const replicationWait = 'SyncRepWaitForLSN';

/** Error for a statement that was committed on the primary, but possibly not on any replica. Its outcome is unknown. */
export class NotReplicatedError extends Error {
  /** SQLSTATE code for statement_completion_unknown. */
  readonly code = '40003';
  constructor() {
    super('PostgreSQL did not wait for its synchronous replicas');
  }
}

type Query = pg.Client['query'];
type Callback = (err: Error | undefined, result: unknown) => void;

/**
 * Connection class that the whole program uses. The connection breaks when a statement takes longer than
 * `query_timeout`. All statements of a connection share one timer. With one timer per statement, as in pg, rows survive
 * until a full garbage collection, and young collections take 5 ms instead of 0.4.
 */
export class Connection extends pg.Client {
  #waiting = false;
  #unreplicated = false;
  readonly #socket: Duplex;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #settings: Record<string, string>;
  readonly #signal: AbortSignal | undefined;

  constructor({
    server,
    settings,
    onAnswer,
    signal,
    tls: encryption,
    query_timeout: limitMs,
    stream,
    ...config
  }: ConnectionOptions) {
    const socket = (typeof stream === 'function' ? stream() : stream) ?? new Socket();
    const url = urlOf(server);
    const tls = encryption === undefined ? tlsOf(url) : encryption;
    super({
      ...config,
      connectionString: withoutTls(url),
      ...(tls !== undefined && { ssl: tls }),
      stream: () => socket,
    });
    this.#socket = socket;
    this.#settings = { ...sessionSettings, ...settings };
    this.#signal = signal;
    if (limitMs !== undefined) this.#timer = setTimeout(() => this.#check(limitMs), limitMs).unref();
    this.on('drain', () => {
      this.#waiting = false;
      onAnswer?.();
    });
    this.on('notice', ({ routine }) => {
      if (routine === replicationWait) this.#unreplicated = true;
    });
    // Prevents a crash if the connection breaks during setup, when there is no other error listener yet. Its statements
    // fail anyway.
    this.on('error', () => {});
    const stop = (): void => this.destroy(signal?.reason);
    signal?.addEventListener('abort', stop);
    this.once('end', () => {
      clearTimeout(this.#timer);
      signal?.removeEventListener('abort', stop);
    });
  }

  /** Closes the connection immediately. A graceful close would wait for a server that hangs. */
  destroy(reason?: Error): void {
    this.#socket.destroy(reason);
  }

  override connect(): Promise<this>;
  override connect(callback: (err: Error) => void): void;
  override connect(callback?: (err: Error) => void): Promise<this> | undefined {
    const connected = this.#connectAndPrepare();
    if (callback === undefined) return connected;
    connected.then(() => (callback as () => void)(), callback);
    return undefined;
  }

  async #connectAndPrepare(): Promise<this> {
    this.#signal?.throwIfAborted();
    await super.connect();
    try {
      await this.query(applySettings, [Object.keys(this.#settings), Object.values(this.#settings)]);
    } catch (err) {
      this.destroy();
      throw err;
    }
    return this;
  }

  override query = ((...args: unknown[]) => {
    this.#waiting = true;
    this.#timer?.refresh();
    const run = super.query as (...args: unknown[]) => unknown;
    const callback = args.at(-1);
    if (typeof callback === 'function')
      return run.call(this, ...args.slice(0, -1), this.#unlessUnreplicated(callback as Callback));
    return (run.call(this, ...args) as Promise<unknown>).then((result) => {
      if (this.#takeUnreplicated()) throw new NotReplicatedError();
      return result;
    });
  }) as Query;

  #unlessUnreplicated(callback: Callback): Callback {
    return (err, result) => callback(this.#takeUnreplicated() ? (err ?? new NotReplicatedError()) : err, result);
  }

  #takeUnreplicated(): boolean {
    const was = this.#unreplicated;
    this.#unreplicated = false;
    return was;
  }

  #check(limitMs: number): void {
    if (this.#waiting) this.destroy(new Error(`timeout: no answer within ${limitMs} ms`));
  }
}
