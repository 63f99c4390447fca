import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';
import { StartupError } from '../startup-error.ts';
import type { Executor } from './pool.ts';
import { Connection } from './pool.ts';

const migrationsFolder = new URL('../../../migrations/', import.meta.url);

type Migration = { name: string; sql: string; checksum: string };

/** The checksums of the applied migrations by name; null: applied before there were checksums. */
type Applied = ReadonlyMap<string, string | null>;

/**
 * Where migrations are applied: those that are missing, each in its own transaction, forward only. Processes that start
 * together wait for one another on an advisory lock.
 * @param options.signal stops it: the migration under way is undone
 * @returns the names applied now
 * @throws StartupError where an applied migration is not this program's
 */
export async function migrate(
  databaseUrl: string,
  { folder = migrationsFolder, signal }: { folder?: URL; signal?: AbortSignal } = {},
): Promise<string[]> {
  const client = new Connection({ server: databaseUrl, application_name: 'perkwire-migrate', signal });
  await client.connect();
  try {
    await client.query("select pg_advisory_lock(hashtext('perkwire_migrate'))");
    await client.query(
      `create table if not exists schema_migrations (
        name text primary key,
        applied_at timestamptz not null default now(),
        checksum text not null
      )`,
    );
    const applied = await readApplied(client);
    const files = await filesIn(folder);
    refuseOtherBuild(applied, files);
    const missing = files.filter(({ name }) => !applied.has(name));
    for (const migration of missing) await applyOne(client, migration);
    return missing.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

/** The migrations that are not applied yet; all of them to an empty database. Changes nothing. */
export async function missingMigrations(executor: Executor, folder: URL = migrationsFolder): Promise<string[]> {
  const names = (await filesIn(folder)).map(({ name }) => name);
  const known = await executor.query("select to_regclass('schema_migrations') is not null as known");
  if ((known.rows[0] as { known: boolean } | undefined)?.known !== true) return names;
  const applied = await readApplied(executor);
  return names.filter((name) => !applied.has(name));
}

export type SchemaOptions = {
  /** Whether a schema with migrations that this program does not have yet is accepted: a rollback. */
  allowNewer?: boolean;
  /** How to get an empty database. */
  beginAnew?: string;
};

/**
 * Whether this program can use the schema that a database has; changes nothing.
 * @throws StartupError where it is newer, or was made by another build
 */
export async function checkAppliedMigrations(executor: Executor, options: SchemaOptions): Promise<void> {
  const [applied, files] = [await readApplied(executor), await filesIn(migrationsFolder)];
  refuseOtherBuild(applied, files, options.beginAnew);
  const known = new Set(files.map(({ name }) => name));
  const newer = [...applied.keys()].find((name) => !known.has(name));
  if (newer !== undefined && options.allowNewer !== true)
    throw new StartupError(
      `The database's schema is newer than this program (it has ${newer}). Run the version that wrote it; to go ` +
        'back by one release, set ALLOW_NEWER_SCHEMA=true; else restore the backup from before the upgrade.',
    );
}

/** Refuses migrations that were changed or removed after they were applied: the tables are not the expected ones. */
function refuseOtherBuild(
  applied: Applied,
  files: readonly Migration[],
  beginAnew = 'Use an empty database (createdb perkwire), or for the embedded one another DATA_DIR.',
): void {
  const known = new Map(files.map(({ name, checksum }) => [name, checksum]));
  const last = files.at(-1)?.name ?? '';
  const other = [...applied].find(([name, checksum]) => (known.has(name) ? known.get(name) !== checksum : name < last));
  if (other === undefined) return;
  throw new StartupError(
    `The database's schema was made by another build of this program (its ${other[0]} differs). Run that build, or ` +
      `begin anew: ${beginAnew}`,
  );
}

async function readApplied(executor: Executor): Promise<Applied> {
  const { rows } = await executor.query<{ name: string; checksum: string | null }>(
    "select name, to_jsonb(m) ->> 'checksum' as checksum from schema_migrations m order by name",
  );
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

async function filesIn(folder: URL): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => {
      // A checkout on Windows has other line ends.
      const sql = (await readFile(new URL(name, folder), 'utf8')).replaceAll('\r\n', '\n');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

async function applyOne(client: pg.Client, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query('insert into schema_migrations (name, checksum) values ($1, $2)', [name, checksum]);
    await client.query(sql);
    await client.query('commit');
  } catch (err) {
    // A connection that broke has rolled back.
    await client.query('rollback').catch(() => {});
    throw new Error(`migration ${name} failed: ${(err as Error).message}`, { cause: err });
  }
}
