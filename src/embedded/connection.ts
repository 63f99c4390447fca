import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { databaseName } from './cluster.ts';

const pollMs = 50;

/** Address and password of an embedded server. */
export interface Address {
  port: number;
  password: string;
}

export function connectionUrl({ port, password }: Address): string {
  return `postgres://${databaseName}:${password}@127.0.0.1:${port}/${databaseName}`;
}

/**
 * Tests the connection to a server. Returns `ready`, or the failure code: a SQLSTATE (57P03 during startup or shutdown)
 * or a socket error code.
 */
export async function probe(address: Address): Promise<string> {
  try {
    await withClient(address, async () => {});
    return 'ready';
  } catch (err) {
    return (err as { code?: string }).code ?? 'no answer';
  }
}

/**
 * Polls until the server is ready, rejects the password (28P01) or exits, or until the timeout expires. Returns the
 * last result of `probe`, or `exited`.
 */
export async function waitUntilReady(
  address: Address,
  isAlive: () => Promise<boolean>,
  limitMs: number,
): Promise<string> {
  const until = performance.now() + limitMs;
  for (;;) {
    const answer = await probe(address);
    if (answer === 'ready' || answer === '28P01') return answer;
    if (!(await isAlive())) return 'exited';
    if (performance.now() > until) return answer;
    await sleep(pollMs);
  }
}

/**
 * Creates the database if it is missing. It can be missing if a previous start was interrupted between initdb and this
 * step.
 */
export async function ensureDatabase(address: Address): Promise<void> {
  await withClient(address, async (client) => {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [databaseName]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(databaseName)}`);
  });
}

async function withClient(address: Address, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port: address.port,
    user: databaseName,
    password: address.password,
    database: 'postgres',
    ssl: false,
    connectionTimeoutMillis: 2_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}
