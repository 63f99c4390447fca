import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { createPool } from '../../src/platform/db/pool.ts';
import { resource } from './resources.ts';

/** A server that flushes nothing to disk copies files in a third of the time that pages through the log take. */
const strategy = process.env.TEST_DATABASE_URL === undefined ? 'strategy file_copy' : '';

/** A fresh copy of the template database, with the demo catalogue. Dropped by `drop`. */
export async function cloneDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  const templateUrl = await resource('postgres');
  const template = new URL(templateUrl).pathname.slice(1);
  const name = `test_${randomBytes(6).toString('hex')}`;
  await admin(templateUrl, async (client) => {
    // Clones of one template wait for one another.
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
 * The same with connections to it, for what needs no application. Their errors are left out: a pool ends before its
 * connections have, and those that the drop of the database ends first report it.
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
