import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkAppliedMigrations, migrate } from '../../src/platform/db/migrate.ts';
import { migrationsFolder } from '../../src/platform/db/migration-files.ts';
import { ensureBuilt } from '../support/resources.ts';
import { endChild, processSecrets } from '../support/server-process.ts';
import { columnsOf, contentOf, migrationsUpTo, restoreFixture } from './fixture.ts';

const ownFiles = (await readdir(migrationsFolder)).filter((name) => name.endsWith('.sql')).sort();

/** The gate that a test holds shut while a migration waits at it. */
const gateKey = 4711;

/** What stops a migration, before its SQL or when it is about to commit. */
const gateSql = (when: 'before' | 'commit', name: string): string => `
  create or replace function wait_at_gate() returns trigger language plpgsql as $$
  begin
    if new.name = ${pg.escapeLiteral(name)} then
      perform pg_advisory_xact_lock_shared(${gateKey});
    end if;
    return new;
  end $$;
  drop trigger if exists gate on schema_migrations;
  create ${when === 'before' ? 'trigger gate before' : 'constraint trigger gate after'} insert on schema_migrations
    ${when === 'before' ? '' : 'deferrable initially deferred'} for each row execute function wait_at_gate();`;

const bookkeeping = ['schema_migrations', 'catalog_changes', 'catalog_version'];

/** Data of users, as opposed to positions in transaction numbers, which a restored dump counts from the beginning. */
const isData = ({ table, type }: { table: string; type: string }): boolean =>
  type !== 'xid8' && !table.endsWith('_progress') && !bookkeeping.includes(table);

let database: Awaited<ReturnType<typeof restoreFixture>>;
afterEach(() => database?.drop());

const applied = async (): Promise<string[]> =>
  (await database.client.query<{ name: string }>('select name from schema_migrations order by name')).rows.map(
    ({ name }) => name,
  );

/** The built program as it is upgraded: migrations, then the end. */
async function startMigrating(): Promise<{ child: ReturnType<typeof spawn>; ended: Promise<number | null> }> {
  await ensureBuilt();
  const child = spawn(process.execPath, ['dist/server.js'], {
    env: { ...process.env, ...processSecrets, DATABASE_URL: database.url, ROLES: 'migrate', LOG_LEVEL: 'fatal' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return { child, ended: new Promise((resolve) => child.once('exit', resolve)) };
}

/** Starts the program, and kills it when it waits at a migration. */
async function killAt(when: 'before' | 'commit', name: string): Promise<void> {
  const gate = new pg.Client({ connectionString: database.url });
  await gate.connect();
  await gate.query(gateSql(when, name));
  await gate.query('select pg_advisory_lock($1)', [gateKey]);
  const { child } = await startMigrating();
  const waiting = `select 1 from pg_stat_activity where application_name = 'perkwire-migrate'
    and datname = current_database() and wait_event = 'advisory' and wait_event_type = 'Lock'`;
  await expect.poll(async () => (await gate.query(waiting)).rowCount, { timeout: 60_000 }).toBe(1);
  await endChild(child, 'SIGKILL');
  // The server notices that nobody waits for the migration any more, although the lock is still held.
  await expect.poll(async () => (await gate.query(waiting)).rowCount, { timeout: 60_000 }).toBe(0);
  await gate.query('drop trigger gate on schema_migrations; drop function wait_at_gate');
  await gate.end();
}

describe.each([
  ['schema-0022', '0022-weeks-of-offers.sql'],
  ['schema-0071', '0071-outcomes-after-a-restore.sql'],
])('a database of an earlier build, %s,', (fixture, last) => {
  const missing = ownFiles.filter((name) => name > last);
  beforeEach(async () => {
    database = await restoreFixture(fixture);
  });

  test('is upgraded with kills halfway, taken back and forward again, and loses nothing', async () => {
    const columns = (await columnsOf(database.client)).filter(isData);
    const before = await contentOf(database.client, columns);
    expect(Object.keys(before).length).toBeGreaterThan(20);
    expect(await applied()).toEqual(ownFiles.slice(0, ownFiles.length - missing.length));

    // 1. Killed before a migration in the middle, then at the commit of a later one.
    const [middle, later] = [missing[Math.floor(missing.length / 2)], missing.at(-1)];
    for (const [when, name] of [
      ['before', middle],
      ['commit', later],
    ] as const) {
      if (name === undefined) continue; // the fixture is that of the newest schema
      await killAt(when, name);
      expect(await applied()).toEqual(ownFiles.slice(0, ownFiles.indexOf(name)));
    }

    // 2. Started again: complete.
    const { ended } = await startMigrating();
    expect(await ended).toBe(0);
    expect(await applied()).toEqual(ownFiles);
    expect(await contentOf(database.client, columns)).toEqual(before);

    // 3. Taken back by one release: the earlier migrations are the same, and its statements still fit.
    const earlier = await migrationsUpTo(last);
    const back = { folder: earlier.folder };
    if (missing.length > 0)
      await expect(checkAppliedMigrations(database.client, back)).rejects.toThrow(/schema is newer than this program/);
    await checkAppliedMigrations(database.client, { ...back, allowNewer: true });
    expect(await migrate(database.url, back)).toEqual([]);
    await earlier.remove();

    // 4. Forward again.
    expect(await migrate(database.url)).toEqual([]);
    expect(await contentOf(database.client, columns)).toEqual(before);
  });
});

test('the release before the next one can write into the tables of the next', async () => {
  database = await restoreFixture('schema-0071');
  const before = await columnsOf(database.client);
  await migrate(database.url);
  const after = await columnsOf(database.client);
  const keyOf = ({ table, column, type }: { table: string; column: string; type: string }): string =>
    `${table}.${column} ${type}`;
  const present = new Set(after.map(keyOf));
  expect(before.map(keyOf).filter((key) => !present.has(key))).toEqual([]);
  const [tables, known] = [new Set(before.map(({ table }) => table)), new Set(before.map(keyOf))];
  const isNew = (column: (typeof after)[number]): boolean => tables.has(column.table) && !known.has(keyOf(column));
  expect(after.filter((column) => isNew(column) && column.required).map(keyOf)).toEqual([]);
});

test('a database of the build whose comment differed opens, and keeps its checksums for a way back', async () => {
  database = await restoreFixture('schema-0022');
  const read = 'select name, checksum from schema_migrations order by name';
  const { rows: before } = await database.client.query(read);
  await migrate(database.url);
  const { rows: after } = await database.client.query(read);
  expect(after.slice(0, before.length)).toEqual(before);
  expect((await database.client.query('select from schema_migrations where sql_checksum is null')).rowCount).toBe(0);
});
