import { spawn } from 'node:child_process';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkAppliedMigrations, migrate, missingMigrations } from '../../src/platform/db/migrate.ts';
import { listMigrations, migrationsFolder, readReplaced } from '../../src/platform/db/migration-files.ts';
import { ensurePartitions } from '../../src/platform/db/partitions.ts';
import { copyMigrations } from '../support/migrations.ts';
import { ensureBuilt } from '../support/resources.ts';
import { endChild, processSecrets } from '../support/server-process.ts';
import { createTestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';
import { applyNumbered, columnsOf, contentOf, earlierFolder, restoreFixture } from './fixture.ts';

const ownFiles = await listMigrations(migrationsFolder);
const baseline = ownFiles.filter((name) => name.startsWith('baseline/'));
const numbered = ownFiles.filter((name) => !name.startsWith('baseline/'));
const replacedByName = await readReplaced(migrationsFolder);
const replaced = Object.keys(replacedByName);

/** Key of the lock that makes a migration wait. */
const gateKey = 4711;

/**
 * Returns SQL that makes a migration wait, before its SQL or at its commit. It uses a separate schema, which migrations
 * ignore.
 */
const gateSql = (when: 'before' | 'commit', name: string): string => `
  create schema gate;
  create function gate.wait() returns trigger language plpgsql as $$
  begin
    if new.name = ${pg.escapeLiteral(name)} then
      perform pg_advisory_xact_lock_shared(${gateKey});
    end if;
    return new;
  end $$;
  create ${when === 'before' ? 'trigger gate before' : 'constraint trigger gate after'} insert on schema_migrations
    ${when === 'before' ? '' : 'deferrable initially deferred'} for each row execute function gate.wait();`;

const bookkeeping = ['schema_migrations', 'catalog_changes', 'catalog_publisher_changes', 'catalog_version'];

/**
 * Whether a column contains user data, as opposed to positions in transaction IDs, which start again in a restored
 * dump.
 */
const isData = ({ table, type }: { table: string; type: string }): boolean =>
  type !== 'xid8' && !table.endsWith('_progress') && !bookkeeping.includes(table);

let database: Awaited<ReturnType<typeof restoreFixture>>;
afterEach(() => database?.drop());

const applied = async (): Promise<string[]> =>
  (await database.client.query<{ name: string }>('select name from schema_migrations')).rows
    .map(({ name }) => name)
    .sort();

const sorted = (...lists: (readonly string[])[]): string[] => lists.flat().sort();

/** Runs the built program like an upgrade: it applies the migrations, then exits. */
async function startMigrating(): Promise<{ child: ReturnType<typeof spawn>; ended: Promise<number | null> }> {
  await ensureBuilt();
  const child = spawn(process.execPath, ['dist/server.js'], {
    env: { ...process.env, ...processSecrets, DATABASE_URL: database.url, ROLES: 'migrate', LOG_LEVEL: 'fatal' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return { child, ended: new Promise((resolve) => child.once('exit', resolve)) };
}

/** Starts the program, and kills it while it waits at a migration. */
async function killAt(when: 'before' | 'commit', name: string): Promise<void> {
  const gate = new pg.Client({ connectionString: database.url });
  await gate.connect();
  await gate.query(gateSql(when, name));
  await gate.query('select pg_advisory_lock($1)', [gateKey]);
  const { child } = await startMigrating();
  const waiting = `select 1 from pg_stat_activity where application_name = 'perkwire-migrate'
    and datname = current_database() and wait_event = 'advisory' and wait_event_type = 'Lock'`;
  await expect.poll(async () => (await gate.query(waiting)).rowCount).toBe(1);
  await endChild(child, 'SIGKILL');
  // Wait until the server notices that the client of the waiting migration is gone, although the lock is still held.
  await expect.poll(async () => (await gate.query(waiting)).rowCount).toBe(0);
  await gate.query('drop schema gate cascade');
  await gate.end();
}

async function contentOfUsers(): Promise<{ before: Record<string, string>; now: () => Promise<unknown> }> {
  const columns = (await columnsOf(database.client)).filter(isData);
  const before = await contentOf(database.client, columns);
  expect(Object.keys(before).length).toBeGreaterThan(20);
  return { before, now: () => contentOf(database.client, columns) };
}

/** Fetches offers through an application on the database. */
async function fetchOffers(): Promise<unknown[]> {
  const t = await createTestApp({ databaseUrl: database.url });
  try {
    await ensurePartitions(t.pool, Date.now());
    const answer = await t.app.inject({
      method: 'POST',
      url: `/native/v4/offers.json?api_key=${t.publisher.key}&loyaltyboost=0&creative=0`,
      payload: { placement: 'checkout' },
    });
    expect(answer.statusCode, answer.body).toBe(200);
    return (answer.json() as { data: { offers: unknown[] } }).data.offers;
  } finally {
    await t.close();
  }
}

describe('a populated database of the build before the baseline', () => {
  beforeEach(async () => {
    database = await restoreFixture('schema-0071');
    expect(await applied()).toEqual(replaced);
  });

  // Long timeout: all migrations run several times.
  test('is upgraded, killed, rolled back and upgraded again without loss, and then serves offers', {
    timeout: timeLimit(240_000),
  }, async () => {
    const content = await contentOfUsers();

    // 1. Kill it while it adopts the baseline, before a migration in the middle, and at the commit of the last one.
    const [middle, last] = [Math.floor(numbered.length / 2), numbered.length - 1];
    await killAt('before', baseline[0] as string);
    expect(await applied()).toEqual(replaced);
    await killAt('commit', baseline.at(-1) as string);
    expect(await applied()).toEqual(replaced);
    await killAt('before', numbered[middle] as string);
    expect(await applied()).toEqual(sorted(replaced, baseline, numbered.slice(0, middle)));
    await killAt('commit', numbered[last] as string);
    expect(await applied()).toEqual(sorted(replaced, baseline, numbered.slice(0, last)));

    // 2. Start it again: the upgrade completes.
    const { ended } = await startMigrating();
    expect(await ended).toBe(0);
    expect(await applied()).toEqual(sorted(replaced, ownFiles));
    expect(await content.now()).toEqual(content.before);

    // 3. Go back to the previous build: its migrations are the same, and its statements still work.
    const { folder, remove } = await earlierFolder();
    const back = checkAppliedMigrations(database.client, { folder });
    await expect(back).rejects.toThrow(/schema is newer than this release/);
    await checkAppliedMigrations(database.client, { folder, allowNewer: true });
    expect(await migrate(database.url, { folder })).toEqual([]);
    await remove();

    // 4. Go forward again.
    expect(await migrate(database.url)).toEqual([]);
    expect(await content.now()).toEqual(content.before);
    expect(await fetchOffers()).not.toEqual([]);
  });

  test('adopts the baseline even after later migrations of such builds', async () => {
    const content = await contentOfUsers();
    await applyNumbered(database.client);
    await checkAppliedMigrations(database.client, {});
    expect(await missingMigrations(database.client)).toEqual([]);
    expect(await migrate(database.url)).toEqual([]);
    expect(await applied()).toEqual(sorted(replaced, ownFiles));
    expect(await content.now()).toEqual(content.before);
    expect(await migrate(database.url)).toEqual([]);
    expect(await fetchOffers()).not.toEqual([]);
  });

  test('is upgraded once by processes that start together', async () => {
    const results = await Promise.all([1, 2, 3].map(() => migrate(database.url)));
    expect(results.filter((names) => names.length > 0)).toEqual([numbered]);
    expect(await applied()).toEqual(sorted(replaced, ownFiles));
  });

  test('is upgraded with custom partitions, comments, privileges, views, indexes, tables and schemas', async () => {
    await database.client.query(
      `select create_day_partitions('2030-01-01', '2030-01-02');
      comment on table offers is 'Texts';
      grant select on offers to public;
      create index offers_title on offers (title);
      create table notes (offer_id bigint primary key);
      create view offers_by_campaign as select campaign_id, count(*) from offers group by 1;
      create schema reporting; create table reporting.notes (text text)`,
    );
    expect(await migrate(database.url)).toEqual(numbered);
  });

  test('accepts checksums of files with other comments and keeps them for a rollback', async () => {
    const name = '0004-sessions-and-users.sql';
    for (const checksum of (replacedByName[name] as string[]).slice(0, -1)) {
      await database.client.query('update schema_migrations set checksum = $1 where name = $2', [checksum, name]);
      await checkAppliedMigrations(database.client, {});
    }
    const read = "select name, checksum from schema_migrations where name ~ '^00[0-6]' order by name";
    const { rows: before } = await database.client.query(read);
    await migrate(database.url);
    expect((await database.client.query(read)).rows).toEqual(before);
  });

  test.each([
    ['column offers.title', 'alter table offers drop column title'],
    ['columns offers', 'alter table offers add column extra text'],
    ['column offers.title', 'alter table offers alter column title drop not null'],
    ['column publishers.id', 'alter table publishers alter column id drop identity'],
    ['default offers.weight', 'alter table offers alter column weight set default 1'],
    ['constraint offers.offers_title_check', 'alter table offers drop constraint offers_title_check'],
    ['constraint drafts.drafts_campaign_id_fkey', 'alter table drafts drop constraint drafts_campaign_id_fkey'],
    ['index offers.offers_campaign', 'drop index offers_campaign'],
    ['trigger offers.bump_catalog_version', 'drop trigger bump_catalog_version on offers'],
    ['trigger offers.bump_catalog_version', 'alter table offers disable trigger bump_catalog_version'],
    ['table delivery_queue', 'alter table delivery_queue set (fillfactor = 100)'],
    ['table processes', 'alter table processes set logged'],
    ['table space_probe', 'drop table space_probe'],
    ['sequence coupon_pool_numbers', 'drop sequence coupon_pool_numbers'],
    [
      'function note_goal()',
      "create or replace function note_goal() returns trigger language plpgsql as 'begin return new; end'",
    ],
  ])('with another %s is rejected before anything changes (%s)', async (part, change) => {
    await database.client.query(change);
    const content = await contentOfUsers();
    const records = 'select to_jsonb(m) from schema_migrations m order by name';
    const { rows: before } = await database.client.query(records);
    await expect(migrate(database.url)).rejects.toThrow(`- ${part}: `);
    await expect(migrate(database.url)).rejects.toThrow(/^The schema of the database differs in [1-4] parts/);
    expect((await database.client.query(records)).rows).toEqual(before);
    expect(await content.now()).toEqual(content.before);
  });

  test('is rejected with a hint to the missing grant if its user cannot create schemas', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await database.client.query(
      `create role ${name} login password 'limited'; grant all on schema public to ${name};
      grant all on all tables in schema public to ${name}; grant all on all sequences in schema public to ${name}`,
    );
    const url = Object.assign(new URL(database.url), { username: name, password: 'limited' });
    await expect(migrate(url.href)).rejects.toThrow('grant create on database');
    expect(await applied()).toEqual(replaced);
    await database.client.query(`drop owned by ${name}; drop role ${name}`);
  });
});

test('a database of an even earlier build is rejected unchanged with the build to start first', async () => {
  database = await restoreFixture('schema-0022');
  const before = await applied();
  const refused = /22 of the 71 migrations .* Nothing was changed\. Start the build of commit ecc0eba0 once/;
  await expect(checkAppliedMigrations(database.client, { allowNewer: true })).rejects.toThrow(refused);
  await expect(migrate(database.url)).rejects.toThrow(refused);
  expect(await applied()).toEqual(before);
});

test('a first start that is killed between baseline files is completed by the next', async () => {
  database = await restoreFixture('schema-0071');
  await database.client.query('drop schema public cascade; create schema public');
  const first = await copyMigrations(baseline.slice(0, 5));
  await migrate(database.url, { folder: first.folder });
  await first.remove();
  expect(await applied()).toEqual(baseline.slice(0, 5));
  expect(await migrate(database.url)).toEqual(ownFiles.slice(5));
});

test('the previous release can write into the tables of the next one', async () => {
  database = await restoreFixture('schema-0071');
  const before = await columnsOf(database.client);
  await migrate(database.url);
  const after = await columnsOf(database.client);
  const keyOf = ({ table, column, type }: { table: string; column: string; type: string }): string =>
    `${table}.${column} ${type}`;
  const present = new Set(after.map(keyOf));
  expect(before.map(keyOf).filter((key) => !present.has(key))).toEqual([]);
  const [tables, columnKeys] = [new Set(before.map(({ table }) => table)), new Set(before.map(keyOf))];
  const isNew = (column: (typeof after)[number]): boolean => tables.has(column.table) && !columnKeys.has(keyOf(column));
  expect(after.filter((column) => isNew(column) && column.required).map(keyOf)).toEqual([]);
});
