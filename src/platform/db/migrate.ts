import type pg from 'pg';
import { StartupError } from '../startup-error.ts';
import { type Migration, migrationsFolder, readMigrations } from './migration-files.ts';
import type { Executor } from './pool.ts';
import { Connection } from './pool.ts';

/** Checksums of an applied migration; null if the build that applied it recorded none. */
type Recorded = { checksum: string | null; sqlChecksum: string | null };
type Applied = ReadonlyMap<string, Recorded>;

/**
 * Applies the missing migrations in order, each in its own transaction. Processes that start together wait for each
 * other on an advisory lock.
 * @param options.signal aborts the migration; the current one is rolled back
 * @returns the names of the applied migrations
 * @throws StartupError if an applied migration differs from the file of this build
 */
export async function migrate(
  databaseUrl: string,
  { folder = migrationsFolder, signal }: { folder?: URL; signal?: AbortSignal } = {},
): Promise<string[]> {
  const client = new Connection({ server: databaseUrl, application_name: 'perkwire-migrate', signal });
  await client.connect();
  try {
    await endWithClient(client);
    await client.query("select pg_advisory_lock(hashtext('perkwire_migrate'))");
    await client.query(
      `create table if not exists schema_migrations (
        name text primary key,
        applied_at timestamptz not null default now(),
        checksum text not null,
        sql_checksum text
      )`,
    );
    const applied = await readApplied(client);
    const files = await readMigrations(folder);
    refuseOtherBuild(applied, files);
    await addSqlChecksum(client);
    await recordSqlChecksums(client, applied, files);
    const missing = files.filter(({ name }) => !applied.has(name));
    for (const migration of missing) await applyOne(client, migration);
    return missing.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

/** Returns the names of the migrations that are not applied yet, all of them for an empty database. Changes nothing. */
export async function missingMigrations(executor: Executor, folder: URL = migrationsFolder): Promise<string[]> {
  const names = (await readMigrations(folder)).map(({ name }) => name);
  const table = await executor.query("select to_regclass('schema_migrations') is not null as exists");
  if ((table.rows[0] as { exists: boolean } | undefined)?.exists !== true) return names;
  const applied = await readApplied(executor);
  return names.filter((name) => !applied.has(name));
}

export type SchemaOptions = {
  /**
   * Whether to accept a schema with migrations that this program does not have yet, after a rollback of the program.
   */
  allowNewer?: boolean;
  folder?: URL;
};

/**
 * Checks whether this program can use the schema of a database, without changing anything.
 * @throws StartupError if the schema is newer, or was created by another build
 */
export async function checkAppliedMigrations(
  executor: Executor,
  { allowNewer = false, folder = migrationsFolder }: SchemaOptions,
): Promise<void> {
  const [applied, files] = [await readApplied(executor), await readMigrations(folder)];
  refuseOtherBuild(applied, files);
  const names = new Set(files.map(({ name }) => name));
  const newer = [...applied.keys()].find((name) => !names.has(name));
  if (newer !== undefined && !allowNewer)
    throw new StartupError(
      `The database's schema is newer than this program (it has ${newer}). Run the version that wrote it; to go ` +
        'back by one release, set ALLOW_NEWER_SCHEMA=true; else restore the backup from before the upgrade.',
    );
}

/** Hint that keeps the data (docs/operations.md#a-database-of-another-build). */
const wayOut =
  'Nothing was changed. Run the build that wrote the database, or a release of Perkwire in place of a checkout with ' +
  'edited migrations. The section "A database of another build" in docs/operations.md says how to move the data to ' +
  'this build.';

/** Rejects migrations that were changed or removed after they were applied, because the tables are not as expected. */
function refuseOtherBuild(applied: Applied, files: readonly Migration[]): void {
  const fileOf = new Map(files.map((file) => [file.name, file]));
  const last = files.at(-1)?.name ?? '';
  for (const [name, recorded] of applied) {
    const file = fileOf.get(name);
    if (file === undefined && name < last)
      throw new StartupError(
        `The database was made by another build of this program: it has the migration ${name}, which this build ` +
          `does not have. ${wayOut}`,
      );
    if (file !== undefined && !isSame(recorded, file))
      throw new StartupError(
        `The database was made by another build of this program: its migration ${name} has the checksum ` +
          `${recorded.checksum ?? '(none)'}, that of this build ${file.checksum}. ${wayOut}`,
      );
  }
}

const isSame = ({ checksum, sqlChecksum }: Recorded, file: Migration): boolean =>
  (checksum !== null && file.accepted.has(checksum)) || sqlChecksum === file.sqlChecksum;

async function readApplied(executor: Executor): Promise<Applied> {
  const { rows } = await executor.query<Recorded & { name: string }>(
    `select name, to_jsonb(m) ->> 'checksum' as checksum, to_jsonb(m) ->> 'sql_checksum' as "sqlChecksum"
    from schema_migrations m order by name`,
  );
  return new Map(rows.map(({ name, ...recorded }) => [name, recorded]));
}

/**
 * Makes the server cancel this process's statement soon after the process is killed. Otherwise the statement would run
 * to its end, holding the lock, and then roll back. Not available on all platforms.
 */
async function endWithClient(client: pg.Client): Promise<void> {
  await client.query("set client_connection_check_interval = '2s'").catch(() => {});
}

/** Adds the column that earlier builds lack. Later starts must not wait for a dump that reads the table. */
async function addSqlChecksum(client: pg.Client): Promise<void> {
  const column = await client.query(
    "select from pg_attribute where attrelid = 'schema_migrations'::regclass and attname = 'sql_checksum'",
  );
  if (column.rowCount === 0) await client.query('alter table schema_migrations add column sql_checksum text');
}

/**
 * Records the SQL checksums of migrations applied by builds before `sql_checksum`, so that later edits of comments have
 * no effect. Their own checksums stay, because these builds compare them when they are started again.
 */
async function recordSqlChecksums(client: pg.Client, applied: Applied, files: readonly Migration[]): Promise<void> {
  const unrecorded = files.filter(({ name }) => applied.get(name)?.sqlChecksum === null);
  if (unrecorded.length === 0) return;
  await client.query(
    `update schema_migrations m set sql_checksum = file.sql_checksum
    from unnest($1::text[], $2::text[]) as file (name, sql_checksum) where m.name = file.name`,
    [unrecorded.map(({ name }) => name), unrecorded.map(({ sqlChecksum }) => sqlChecksum)],
  );
}

async function applyOne(client: pg.Client, { name, sql, checksum, sqlChecksum }: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query('insert into schema_migrations (name, checksum, sql_checksum) values ($1, $2, $3)', [
      name,
      checksum,
      sqlChecksum,
    ]);
    await client.query(sql);
    await client.query('commit');
  } catch (err) {
    // A broken connection has already rolled back.
    await client.query('rollback').catch(() => {});
    throw new Error(`migration ${name} failed: ${(err as Error).message}`, { cause: err });
  }
}
