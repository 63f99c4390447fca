import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import { type ServerUrl, urlOf } from './servers.ts';

export type ConnectionOptions = Omit<pg.ClientConfig, 'connectionString'> & {
  server: ServerUrl;
  /** Settings of PostgreSQL beyond `sessionSettings`, such as `{ jit: 'off' }`. */
  settings?: Record<string, string>;
  /** Called for each response of the server. */
  onAnswer?: () => void;
};

/**
 * What the promise "2xx means committed, on every replica that PostgreSQL was told to wait for" needs of a connection,
 * whatever the defaults of server, database and role are. Set by a statement, because poolers drop start-up options.
 */
const sessionSettings = {
  synchronous_commit: 'on',
  // A cancelled statement that already waits for a replica is committed all the same; our own deadlines end
  // connections instead.
  statement_timeout: '0',
  // A frozen process must not keep its row locks.
  idle_in_transaction_session_timeout: '5000',
  // The warning that a commit did not wait for its replicas must arrive.
  client_min_messages: 'warning',
};

/** `remote_apply` waits for more than `on`, and stays. */
const applySettings = `
select set_config(name, value, false) from unnest($1::text[], $2::text[]) as wanted (name, value)
where not (name = 'synchronous_commit' and current_setting(name) = 'remote_apply')`;

/** PostgreSQL's function that waits for replicas; unlike the text of its warnings it is never translated. */
const replicationWait = 'SyncRepWaitForLSN';

/** The statement is committed on the primary, and perhaps on no replica: its outcome is unknown. */
export class NotReplicatedError extends Error {
  /** SQLSTATE statement_completion_unknown. */
  readonly code = '40003';
  constructor() {
    super('PostgreSQL did not wait for its synchronous replicas');
  }
}

type Query = pg.Client['query'];
type Callback = (err: Error | undefined, result: unknown) => void;

/**
 * Every connection of this program. It breaks when a statement takes longer than `query_timeout`; one timer serves all
 * its statements: with one for each, as in pg, rows outlive every garbage collection but the full ones, and young
 * collections take 5 ms instead of 0.4.
 */
export class Connection extends pg.Client {
  #waiting = false;
  #unreplicated = false;
  readonly #socket: Duplex;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #settings: Record<string, string>;

  constructor({ server, settings, onAnswer, query_timeout: limitMs, stream, ...config }: ConnectionOptions) {
    const socket = (typeof stream === 'function' ? stream() : stream) ?? new Socket();
    super({ ...config, connectionString: urlOf(server), stream: () => socket });
    this.#socket = socket;
    this.#settings = { ...sessionSettings, ...settings };
    if (limitMs !== undefined) this.#timer = setTimeout(() => this.#check(limitMs), limitMs).unref();
    this.on('drain', () => {
      this.#waiting = false;
      onAnswer?.();
    });
    this.on('notice', ({ routine }) => {
      if (routine === replicationWait) this.#unreplicated = true;
    });
    // One that breaks while its settings are made has no other listener yet; its statements fail all the same.
    this.on('error', () => {});
    this.once('end', () => clearTimeout(this.#timer));
  }

  /** Ends the connection at once: an orderly end would wait for a server that hangs. */
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
