import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';
import { Connection } from './connection.ts';
import type { Executor } from './pool.ts';

export const migrationsFolder = new URL('../../../migrations/', import.meta.url);

/**
 * Applies the migrations that are missing, each in its own transaction, forward only. Processes that start together
 * wait for one another on an advisory lock.
 * @returns the names applied now
 */
export async function migrate(databaseUrl: string, folder: URL = migrationsFolder): Promise<string[]> {
  const client = new Connection({ server: databaseUrl, application_name: 'perkwire-migrate' });
  await client.connect();
  try {
    await client.query("select pg_advisory_lock(hashtext('perkwire_migrate'))");
    await client.query(
      `create table if not exists schema_migrations (
        name text primary key,
        applied_at timestamptz not null default now()
      )`,
    );
    const { rows } = await client.query<{ name: string }>('select name from schema_migrations');
    const applied = new Set(rows.map((row) => row.name));
    const files = await filesIn(folder);
    const now: string[] = [];
    for (const name of files) {
      if (applied.has(name)) continue;
      await applyOne(client, name, await readFile(new URL(name, folder), 'utf8'));
      now.push(name);
    }
    return now;
  } finally {
    await client.end();
  }
}

/** The migrations that are not applied yet; all of them to an empty database. Changes nothing. */
export async function missingMigrations(executor: Executor, folder: URL = migrationsFolder): Promise<string[]> {
  const files = await filesIn(folder);
  const known = await executor.query("select to_regclass('schema_migrations') is not null as known");
  if ((known.rows[0] as { known: boolean } | undefined)?.known !== true) return files;
  const { rows } = await executor.query<{ name: string }>('select name from schema_migrations');
  const applied = new Set(rows.map((row) => row.name));
  return files.filter((name) => !applied.has(name));
}

const filesIn = async (folder: URL): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();

async function applyOne(client: pg.Client, name: string, sql: string): Promise<void> {
  await client.query('begin');
  try {
    await client.query('insert into schema_migrations (name) values ($1)', [name]);
    await client.query(sql);
    await client.query('commit');
  } catch (err) {
    await client.query('rollback');
    throw new Error(`migration ${name} failed: ${(err as Error).message}`, { cause: err });
  }
}
