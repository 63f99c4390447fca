import type pg from 'pg';
import { StartupError } from '../startup-error.ts';
import { adoptBaseline, isBaseline, isFromBeforeBaseline, refuseBeforeBaseline } from './adopt-baseline.ts';
import { type Applied, addSqlChecksum, readApplied, recordApplied } from './applied-migrations.ts';
import { listMigrations, type Migration, migrationsFolder, readMigrations, readReplaced } from './migration-files.ts';
import type { Executor } from './pool.ts';
import { Connection } from './pool.ts';

/** Migrations of a build, and the checksums of the migrations replaced by its baseline, by migration name. */
type Build = { files: readonly Migration[]; replaced: ReadonlyMap<string, readonly string[]> };

/**
 * Applies the missing migrations in order, each in its own transaction. An advisory lock ensures that processes that
 * start at the same time do not migrate concurrently.
 * @param options.signal aborts the migration; the current migration is rolled back
 * @returns the names of the applied migrations
 * @throws StartupError if an applied migration differs from this build's file, or if a database created before the
 * baseline has a different schema
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
    const [applied, build] = [await readApplied(client), await readBuild(folder)];
    refuseOtherBuild(applied, build);
    const missing = await adoptMissing(client, { applied, build });
    await addSqlChecksum(client);
    await recordSqlChecksums(client, applied, build.files);
    for (const migration of missing) await applyOne(client, migration);
    return missing.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

/**
 * Returns the names of the migrations that have not been applied, which are all of them for an empty database. A
 * database created before the baseline counts as having the baseline. Makes no changes.
 */
export async function missingMigrations(executor: Executor, folder: URL = migrationsFolder): Promise<string[]> {
  const [names, replaced] = [await listMigrations(folder), await readReplaced(folder)];
  const table = await executor.query("select to_regclass('schema_migrations') is not null as exists");
  if ((table.rows[0] as { exists: boolean } | undefined)?.exists !== true) return names;
  const applied = await readApplied(executor);
  const hasBaseline = isFromBeforeBaseline(applied, Object.keys(replaced));
  return names.filter((name) => !applied.has(name) && !(hasBaseline && isBaseline({ name })));
}

async function readBuild(folder: URL): Promise<Build> {
  const [files, replaced] = await Promise.all([readMigrations(folder), readReplaced(folder)]);
  return { files, replaced: new Map(Object.entries(replaced)) };
}

/** Returns the migrations to apply. If the database was created before the baseline, records the baseline first. */
async function adoptMissing(
  client: Connection,
  { applied, build: { files, replaced } }: { applied: Applied; build: Build },
): Promise<readonly Migration[]> {
  const missing = files.filter(({ name }) => !applied.has(name));
  const baseline = missing.filter(isBaseline);
  if (baseline.length === 0 || !isFromBeforeBaseline(applied, [...replaced.keys()])) return missing;
  const fileOf = new Map(files.map((file) => [file.name, file]));
  const later = [...applied.keys()].map((name) => fileOf.get(name)).filter((file) => file !== undefined);
  await adoptBaseline(client, { baseline, later });
  return missing.filter((file) => !isBaseline(file));
}

export type SchemaOptions = {
  /**
   * Whether to accept a schema with newer migrations than this program has. This is the case after a rollback of the
   * program.
   */
  allowNewer?: boolean;
  folder?: URL;
};

/**
 * Checks whether this program can use the schema of a database. Makes no changes.
 * @throws StartupError if the schema is newer, or was created by another build
 */
export async function checkAppliedMigrations(
  executor: Executor,
  { allowNewer = false, folder = migrationsFolder }: SchemaOptions,
): Promise<void> {
  const [applied, build] = [await readApplied(executor), await readBuild(folder)];
  refuseOtherBuild(applied, build);
  const names = new Set([...build.files.map(({ name }) => name), ...build.replaced.keys()]);
  const newer = [...applied.keys()].find((name) => !names.has(name));
  if (newer !== undefined && !allowNewer)
    throw new StartupError(
      `The database schema is newer than this release (it has ${newer}). Run the release that created it. To go ` +
        'back by one release, set ALLOW_NEWER_SCHEMA=true. Otherwise restore the backup from before the upgrade.',
    );
}

/** Hint on how to continue without losing data (docs/operations.md#a-database-from-another-build). */
const wayOut =
  'Nothing was changed. Run the build that created the database, or a release of Perkwire instead of a checkout with ' +
  'edited migrations. To move the data to this build, see the section "A database from another build" in ' +
  'docs/operations.md.';

/**
 * Rejects a database if a migration that was applied to it was later changed or removed, because its tables may not be
 * as expected.
 */
function refuseOtherBuild(applied: Applied, { files, replaced }: Build): void {
  const acceptedOf = new Map(replaced);
  for (const { name, checksum, accepted, sqlChecksum } of files)
    acceptedOf.set(name, [checksum, ...accepted, sqlChecksum]);
  const last = files.at(-1)?.name ?? '';
  for (const [name, { checksum, sqlChecksum }] of applied) {
    const accepted = acceptedOf.get(name);
    if (accepted === undefined && name < last)
      throw new StartupError(
        `The database was created by another build of Perkwire: it has the migration ${name}, which this build ` +
          `does not have. ${wayOut}`,
      );
    if (accepted !== undefined && !accepted.some((own) => own === checksum || own === sqlChecksum))
      throw new StartupError(
        `The database was created by another build of Perkwire: its migration ${name} has the checksum ` +
          `${checksum ?? '(none)'} instead of ${accepted[0]}. ${wayOut}`,
      );
  }
  refuseBeforeBaseline(applied, [...replaced.keys()]);
}

/**
 * Makes the server cancel the running statement soon after this process is killed. Otherwise, the statement would keep
 * its lock, run to completion, and only then be rolled back. Not available on all platforms.
 */
async function endWithClient(client: pg.Client): Promise<void> {
  await client.query("set client_connection_check_interval = '2s'").catch(() => {});
}

/**
 * Records SQL checksums for migrations that were applied before `sql_checksum` existed, so that later edits of comments
 * have no effect. The original checksums are retained, because the earlier builds compare them when they start again.
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

async function applyOne(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('begin');
  try {
    await recordApplied(client, [migration]);
    await client.query(migration.sql);
    await client.query('commit');
  } catch (err) {
    // If the rollback fails, the connection is broken and the server has already rolled back.
    await client.query('rollback').catch(() => {});
    throw new Error(`migration ${migration.name} failed: ${(err as Error).message}`, { cause: err });
  }
}
