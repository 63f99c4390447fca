import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import {
  baselinePrefix,
  fileChecksum,
  migrationsFolder,
  readMigrations,
  readReplaced,
} from '../../src/platform/db/migration-files.ts';
import { cloneDatabase } from '../support/database.ts';

/** Restores a database of an earlier build from a `pg_dump` file (test/upgrades/fixtures/README.md). */
export async function restoreFixture(
  name: string,
): Promise<{ url: string; client: pg.Client; drop: () => Promise<void> }> {
  const dump = gunzipSync(await readFile(new URL(`fixtures/${name}.sql.gz`, import.meta.url))).toString();
  const database = await cloneDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('drop schema public cascade; create schema public');
  await client.query(dump);
  await client.query('reset all');
  return {
    url: database.url,
    client,
    drop: async () => {
      await client.end();
      await database.drop();
    },
  };
}

/** Records a migration in the way builds do. */
const recordSql = 'insert into schema_migrations (name, checksum, sql_checksum) values ($1, $2, $3)';

/**
 * Upgrades a database from before the baseline with only the numbered migrations, like builds that had no baseline.
 */
export async function applyNumbered(client: pg.Client): Promise<void> {
  await client.query('alter table schema_migrations add column if not exists sql_checksum text');
  const files = await readMigrations(migrationsFolder);
  for (const { name, sql, checksum, sqlChecksum } of files.filter((file) => !file.name.startsWith(baselinePrefix))) {
    await client.query('begin');
    await client.query(recordSql, [name, checksum, sqlChecksum]);
    await client.query(sql);
    await client.query('commit');
  }
}

/** Creates the migrations folder of the build that made the fixture `schema-0071`, without the SQL in its files. */
export async function earlierFolder(): Promise<{ folder: URL; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'perkwire-earlier-'));
  const replaced = await readReplaced(migrationsFolder);
  const texts = Object.keys(replaced).map((name) => [name, `-- ${name}\n`] as const);
  await Promise.all(texts.map(([name, text]) => writeFile(join(path, name), text)));
  const lock = texts.map(([name, text]) => [name, [...(replaced[name] ?? []), fileChecksum(text)]]);
  await writeFile(join(path, 'checksums.json'), JSON.stringify(Object.fromEntries(lock)));
  return { folder: pathToFileURL(`${path}/`), remove: () => rm(path, { recursive: true }) };
}

type Column = { table: string; column: string; type: string; required: boolean };

/** Returns the columns of all tables. `required` means that a row cannot be inserted without the column. */
export async function columnsOf(client: pg.Client): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `select c.table_name as table, c.column_name as column, c.data_type as type,
      c.is_nullable = 'NO' and c.column_default is null and c.is_identity = 'NO' as required
    from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE' order by 1, c.ordinal_position`,
  );
  return rows;
}

/** Returns row count and checksum of each non-empty table, over the columns of an earlier schema. */
export async function contentOf(client: pg.Client, columns: readonly Column[]): Promise<Record<string, string>> {
  const content: Record<string, string> = {};
  for (const table of new Set(columns.map((column) => column.table))) {
    const list = columns.filter((column) => column.table === table).map(({ column }) => `"${column}"`);
    const { rows } = await client.query<{ text: string; count: number }>(
      `select count(*)::int as count, count(*) || ' rows, ' || md5(coalesce(string_agg(line, '|' order by line), ''))
        as text
      from (select (${list.length === 1 ? list[0] : `row(${list.join(', ')})`})::text as line from "${table}") lines`,
    );
    if (rows[0] !== undefined && rows[0].count > 0) content[table] = rows[0].text;
  }
  return content;
}
