import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkAppliedMigrations, migrate, missingMigrations } from '../../../src/platform/db/migrate.ts';
import { fileChecksum, listMigrations, migrationsFolder } from '../../../src/platform/db/migration-files.ts';
import { cloneDatabase } from '../../support/database.ts';
import { resource } from '../../support/resources.ts';

/** Creates an empty database. */
async function emptyDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  const database = await cloneDatabase();
  await query(database.url, 'drop schema public cascade; create schema public');
  return database;
}

async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

const tables = async (url: string): Promise<string[]> =>
  (
    await query<{ tablename: string }>(
      url,
      "select tablename from pg_tables where schemaname = 'public' order by tablename",
    )
  ).map(({ tablename }) => tablename);

const appliedIn = async (url: string): Promise<string[]> =>
  (await query<{ name: string }>(url, 'select name from schema_migrations order by name')).map(({ name }) => name);

let database: Awaited<ReturnType<typeof emptyDatabase>>;
let folderPath: string;
let folder: URL;
beforeEach(async () => {
  database = await emptyDatabase();
  folderPath = await mkdtemp(join(tmpdir(), 'perkwire-migrations-'));
  folder = pathToFileURL(`${folderPath}/`);
});
afterEach(async () => {
  await database.drop();
  await rm(folderPath, { recursive: true });
});

const write = (name: string, sql: string): Promise<void> => writeFile(join(folderPath, name), sql);

describe('the migrations of Perkwire', () => {
  test('complete an empty database in the order of their numbers', async () => {
    expect(await migrate(database.url)).toEqual(await listMigrations(migrationsFolder));
    expect(await tables(database.url)).toEqual(
      expect.arrayContaining([
        'publishers',
        'offers',
        'sessions',
        'events',
        'deliveries',
        'delivery_queue',
        'schema_migrations',
      ]),
    );
    // Ignore daily partitions, which are not created by a migration.
    const created = (await tables(await resource('postgres'))).filter((name) => !/_p\d{8}$/.test(name));
    expect(await tables(database.url)).toEqual(created);
  });

  test('only add once released, so that the previous release works with the new schema', async () => {
    const files = (await listMigrations(migrationsFolder)).filter((name) => !name.startsWith('baseline/'));
    const takesAway =
      /\bdrop (table|column|function)|\brename\b|\balter column \w+ (type|set data)|(?<!\b(or|after) )\btruncate\b/i;
    const violations: string[] = [];
    for (const name of files)
      if (takesAway.test((await readFile(new URL(name, migrationsFolder), 'utf8')).replaceAll(/--.*/g, '')))
        violations.push(name);
    expect(violations).toEqual([]);
  });

  test('are applied once when two processes start together, and both find a complete database', async () => {
    const [first, other, third] = await Promise.all([
      migrate(database.url),
      migrate(database.url),
      migrate(database.url),
    ]);
    const winners = [first, other, third].filter((applied) => (applied as string[]).length > 0);
    expect(winners).toHaveLength(1);
    expect(new Set(await appliedIn(database.url))).toEqual(new Set(winners[0]));
  });

  test('are skipped if they have been applied', async () => {
    await migrate(database.url);
    expect(await migrate(database.url)).toEqual([]);
  });
});

describe('a migration', () => {
  test('is the only one that an upgrade applies if it is the only new one', async () => {
    await write('0001-a.sql', 'create table a (x integer)');
    expect(await migrate(database.url, { folder })).toEqual(['0001-a.sql']);
    await write('0002-b.sql', 'create table b (x integer); insert into b values (1)');
    await write('notes.txt', 'no migration');
    expect(await migrate(database.url, { folder })).toEqual(['0002-b.sql']);
    expect(await tables(database.url)).toEqual(['a', 'b', 'schema_migrations']);
  });

  test('leaves nothing behind if it fails, is named in the error, and does not affect earlier ones', async () => {
    await write('0001-good.sql', 'create table good (x integer)');
    await write(
      '0002-bad.sql',
      "create table bad (x integer); insert into good values (1); insert into bad values ('no number')",
    );
    await write('0003-later.sql', 'create table later (x integer)');
    await expect(migrate(database.url, { folder })).rejects.toThrow(
      /^migration 0002-bad\.sql failed: invalid input syntax/,
    );
    expect(await tables(database.url)).toEqual(['good', 'schema_migrations']);
    expect(await appliedIn(database.url)).toEqual(['0001-good.sql']);
    expect(await query(database.url, 'select * from good')).toEqual([]);
  });

  test('is applied at the next start after a failure, once it is fixed', async () => {
    await write('0001-x.sql', 'create table x (y integer); select 1 / 0');
    await expect(migrate(database.url, { folder })).rejects.toThrow('division by zero');
    await write('0001-x.sql', 'create table x (y integer)');
    expect(await migrate(database.url, { folder })).toEqual(['0001-x.sql']);
  });

  test('does not keep the lock from the next process if it fails in one', async () => {
    await write('0001-x.sql', 'select 1 / 0');
    const results = await Promise.allSettled([migrate(database.url, { folder }), migrate(database.url, { folder })]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  test('prevents the start and any later migration if it was edited after it was applied', async () => {
    await write('0001-a.sql', 'create table a (x integer)');
    await migrate(database.url, { folder });
    await write('0001-a.sql', 'create table a (x bigint)');
    await write('0002-b.sql', 'create table b (x integer)');
    await expect(migrate(database.url, { folder })).rejects.toThrow(
      /another build of Perkwire: its migration 0001-a\.sql has the checksum .*Nothing was changed\. Run the build/,
    );
    expect(await tables(database.url)).toEqual(['a', 'schema_migrations']);
  });

  test('is unchanged by edits to comments and whitespace, even for builds with a single checksum', async () => {
    await write('0001-a.sql', 'create table a (x integer);');
    await migrate(database.url, { folder });
    await write('0001-a.sql', "-- Numbers.\ncreate table a (\n  x integer\n);\ncomment on table a is 'Numbers';\n");
    expect(await migrate(database.url, { folder })).toEqual([]);

    // The previous release had neither this column nor its values.
    await query(database.url, 'alter table schema_migrations drop column sql_checksum');
    await expect(migrate(database.url, { folder })).rejects.toThrow(/its migration 0001-a\.sql has the checksum/);
    const [row] = await query<{ checksum: string }>(database.url, 'select checksum from schema_migrations');
    const text = await readFile(join(folderPath, '0001-a.sql'), 'utf8');
    await write('checksums.json', JSON.stringify({ '0001-a.sql': [fileChecksum(text), row?.checksum] }));
    expect(await migrate(database.url, { folder })).toEqual([]);
    expect(
      await query(database.url, 'select checksum, sql_checksum is not null as healed from schema_migrations'),
    ).toEqual([{ checksum: row?.checksum, healed: true }]);
  });

  test('is checked read-only in a database that has no SQL checksums yet', async () => {
    await write('0001-a.sql', 'create table a (x integer)');
    await migrate(database.url, { folder });
    await query(database.url, 'alter table schema_migrations drop column sql_checksum');
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query('begin read only');
    await checkAppliedMigrations(client, { folder });
    expect(await missingMigrations(client, folder)).toEqual([]);
    await client.end();
  });

  test('is unchanged by Windows line endings', async () => {
    await write('0001-a.sql', 'create table a (x integer);\nselect 1;\n');
    await migrate(database.url, { folder });
    await write('0001-a.sql', 'create table a (x integer);\r\nselect 1;\r\n');
    expect(await migrate(database.url, { folder })).toEqual([]);
  });
});
