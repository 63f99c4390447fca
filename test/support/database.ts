import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { createPool } from '../../src/platform/db/pool.ts';
import { resource } from './resources.ts';

/**
 * Strategy for cloning a database. On a server that does not flush to disk, copying files takes a third as long as
 * copying pages through the WAL.
 */
const strategy = process.env.TEST_DATABASE_URL === undefined ? 'strategy file_copy' : '';

/** Creates a fresh copy of the template database with the demo catalogue. `drop` deletes it. */
export async function cloneDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  const templateUrl = await resource('postgres');
  const template = new URL(templateUrl).pathname.slice(1);
  const name = `test_${randomBytes(6).toString('hex')}`;
  await admin(templateUrl, async (client) => {
    // Only one clone of a template can be created at a time.
    await client.query("select pg_advisory_lock(hashtext('perkwire_clone'))");
    await client.query(`create database ${name} template ${template} ${strategy}`);
  });
  const url = new URL(templateUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () =>
      admin(templateUrl, (client) => client.query(`drop database if exists ${name} with (force)`).then(() => {})),
  };
}

/**
 * Creates a clone with a connection pool, for tests that need no application. Connection errors are ignored: a pool
 * ends before its connections do, and dropping the database ends some connections first.
 */
export async function clonePool(size: number): Promise<{ url: string; pool: pg.Pool; close: () => Promise<void> }> {
  const { url, drop } = await cloneDatabase();
  const pool = createPool({ url, size, applicationName: 'perkwire-test', onError: () => {}, queryTimeoutMs: 120_000 });
  return { url, pool, close: () => pool.end().then(drop) };
}

async function admin(templateUrl: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const url = new URL(templateUrl);
  url.pathname = '/postgres';
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
