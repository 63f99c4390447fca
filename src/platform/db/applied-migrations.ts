import type { Migration } from './migration-files.ts';
import type { Executor } from './pool.ts';

/**
 * Checksums recorded for an applied migration. A checksum is null if the build that applied the migration did not
 * record it.
 */
type Recorded = { checksum: string | null; sqlChecksum: string | null };

/** Applied migrations by name, in the order in which they were applied. */
export type Applied = ReadonlyMap<string, Recorded>;

export async function readApplied(executor: Executor): Promise<Applied> {
  const { rows } = await executor.query<Recorded & { name: string }>(
    `select name, to_jsonb(m) ->> 'checksum' as checksum, to_jsonb(m) ->> 'sql_checksum' as "sqlChecksum"
    from schema_migrations m order by applied_at, name`,
  );
  return new Map(rows.map(({ name, ...recorded }) => [name, recorded]));
}

/**
 * Adds the checksum column, which earlier builds did not have. If the column exists, the table is not altered, so that
 * startup does not wait for a database dump that is reading it.
 */
export async function addSqlChecksum(executor: Executor): Promise<void> {
  const column = await executor.query(
    "select from pg_attribute where attrelid = 'schema_migrations'::regclass and attname = 'sql_checksum'",
  );
  if (column.rowCount === 0) await executor.query('alter table schema_migrations add column sql_checksum text');
}

/** Records migrations as applied. */
export async function recordApplied(executor: Executor, migrations: readonly Migration[]): Promise<void> {
  await executor.query(
    `insert into schema_migrations (name, checksum, sql_checksum)
    select * from unnest($1::text[], $2::text[], $3::text[])`,
    [
      migrations.map(({ name }) => name),
      migrations.map(({ checksum }) => checksum),
      migrations.map(({ sqlChecksum }) => sqlChecksum),
    ],
  );
}
