import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import pg from 'pg';

type Query = pg.Client['query'];

/**
 * A connection that breaks when a statement takes longer than `query_timeout`. One timer serves all its statements:
 * with one for each, as in pg, rows outlive every garbage collection but the full ones, and young collections take 5 ms
 * instead of 0.4.
 */
export class QueryTimeoutClient extends pg.Client {
  #waiting = false;
  readonly #socket: Duplex;
  readonly #timer: NodeJS.Timeout;

  constructor({ query_timeout: limitMs = 0, stream, ...config }: pg.ClientConfig = {}) {
    const socket = stream?.() ?? new Socket();
    super({ ...config, stream: () => socket });
    this.#socket = socket;
    this.#timer = setTimeout(() => this.#check(limitMs), limitMs).unref();
    this.on('drain', () => {
      this.#waiting = false;
    });
    this.once('end', () => clearTimeout(this.#timer));
  }

  override query = ((...args: Parameters<Query>) => {
    this.#waiting = true;
    this.#timer.refresh();
    return super.query(...args);
  }) as Query;

  #check(limitMs: number): void {
    if (this.#waiting) this.#socket.destroy(new Error(`timeout: no answer within ${limitMs} ms`));
  }
}
