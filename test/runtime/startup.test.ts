import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '../../src/platform/db/migrate.ts';
import { createPool } from '../../src/platform/db/pool.ts';
import { openCheckedDatabase } from '../../src/platform/db/startup-checks.ts';
import { checkSecrets, checkTokenKeys, findTokenKeyProblem } from '../../src/platform/security/canary.ts';
import { createSecretBox } from '../../src/platform/security/secret-box.ts';
import { cloneDatabase, clonePool } from '../support/database.ts';
import { startProxy } from '../support/proxy.ts';
import { ensureBuilt } from '../support/resources.ts';
import { freePort, processSecrets, startServerProcess } from '../support/server-process.ts';
import { createTestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database?.drop());

/** Runs statements on a separate database. */
async function prepare(...statements: string[]): Promise<{ url: string; drop: () => Promise<void> }> {
  const clone = await cloneDatabase();
  const pool = createPool({ url: clone.url, size: 1, applicationName: 'perkwire-test', onError: () => {} });
  for (const statement of statements)
    await pool.query(statement.replaceAll('DATABASE', new URL(clone.url).pathname.slice(1)));
  await pool.end();
  return clone;
}

test('a suitable database is accepted', async () => {
  expect(await openCheckedDatabase(database.url, 0)).toBe(database.url);
});

test.each([
  [
    'of a newer release',
    'The database schema is newer than this release (it has 9999-future.sql)',
    ["insert into schema_migrations (name, checksum) values ('9999-future.sql', '')"],
  ],
  [
    'of another build',
    'created by another build of Perkwire: its migration baseline/09-webhooks.sql has the checksum edited',
    ["update schema_migrations set checksum = 'edited', sql_checksum = null where name = 'baseline/09-webhooks.sql'"],
  ],
  [
    'with a migration that this build lacks',
    'created by another build of Perkwire: it has the migration 0072-old-name.sql, which this build does not have',
    ["update schema_migrations set name = '0072-old-name.sql' where name like '0072-%'"],
  ],
  [
    'without migration checksums',
    'created by another build of Perkwire: its migration baseline/01-platform.sql has the checksum (none)',
    ['alter table schema_migrations drop column checksum, drop column sql_checksum'],
  ],
  ['of another program', 'the database contains tables of another program', ['drop table schema_migrations']],
  [
    'in read-only mode',
    'the database is read-only',
    ['alter database DATABASE set default_transaction_read_only = on'],
  ],
])('a database %s prevents the start with an error message', async (_name, sentence, statements) => {
  const clone = await prepare(...statements);
  await expect(openCheckedDatabase(clone.url, 0)).rejects.toThrow(sentence);
  await expect(openCheckedDatabase(clone.url, 0)).rejects.toHaveProperty('name', 'StartupError');
  await clone.drop();
});

test('the schema of the next release is accepted if that is allowed for a rollback', async () => {
  const clone = await prepare("insert into schema_migrations (name, checksum) values ('9999-future.sql', '')");
  expect(await openCheckedDatabase(clone.url, 0, { allowNewer: true })).toBe(clone.url);
  expect(await migrate(clone.url)).toEqual([]);
  await clone.drop();
});

test.each([
  'postgres://u:secret@/db?host=/no/such/folder',
  'postgres:///db?user=u&host=%2Fno%2Fsuch%2Ffolder&password=secret',
])('a database behind a socket, %s, is identified by its folder', async (url) => {
  const failed = openCheckedDatabase(url, 0).catch((err: Error) => err.message);
  expect(await failed).toMatch(/^DATABASE_URL: no database responded at \/no\/such\/folder within 0 s \(.*ENOENT/);
  expect(await failed).not.toContain('secret');
});

test('a start waits for an unreachable database, then reports its variable and the reason', async () => {
  const port = await freePort();
  const url = `postgres://u:secret@127.0.0.1:${port}/x`;
  const failed = openCheckedDatabase(url, 1000).catch((err: Error) => err.message);
  expect(await failed).toMatch(/^DATABASE_URL: no database responded at 127.0.0.1:\d+ within 1 s \(.*ECONNREFUSED/);
  expect(await failed).not.toContain('secret');
});

test('a start does not wait for a database with a wrong password or name', async () => {
  for (const part of ['pathname', 'password'] as const) {
    const url = new URL(database.url);
    url[part] = 'wrong';
    await expect(openCheckedDatabase(url.href, 3_600_000)).rejects.toThrow(/^DATABASE_URL: .*Correct it\.$/);
  }
});

test('secrets that differ from those of the database prevent the start and are named', async () => {
  const { pool, close } = await clonePool(2);
  const [box, otherBox] = [createSecretBox(Buffer.alloc(32, 1)), createSecretBox(Buffer.alloc(32, 2))];
  const [pepper, otherPepper] = ['p'.repeat(32), 'q'.repeat(32)];
  await Promise.all([checkSecrets(pool, box, pepper), checkSecrets(pool, box, pepper)]);
  await checkSecrets(pool, box, pepper);
  await expect(checkSecrets(pool, otherBox, pepper)).rejects.toThrow(/^SECRETS_KEY does not match/);
  await expect(checkSecrets(pool, box, otherPepper)).rejects.toThrow(/^USER_PEPPER does not match/);
  await close();
});

test('a changed secret for an existing token key ID prevents the start', async () => {
  const { pool, close } = await clonePool(2);
  const keyOf = (id: number, letter: string) => ({ id, secret: letter.repeat(32) });
  const [first, second, third] = [keyOf(1, 'a'), keyOf(2, 'b'), keyOf(3, 'c')];
  await checkSecrets(pool, createSecretBox(Buffer.alloc(32, 1)), 'p'.repeat(32));
  expect(await findTokenKeyProblem(pool, [first])).toBeNull();
  await Promise.all([checkTokenKeys(pool, [first]), checkTokenKeys(pool, [first])]);
  for (const rotated of [[first, second], [second, first], [second]]) await checkTokenKeys(pool, rotated);
  const refused = /^TOKEN_KEYS: the secret with the id 1 does not match/;
  await expect(checkTokenKeys(pool, [third, keyOf(1, 'x')])).rejects.toThrow(refused);
  await expect(checkTokenKeys(pool, [keyOf(1, 'x')])).rejects.toHaveProperty('name', 'StartupError');
  expect(await findTokenKeyProblem(pool, [second, keyOf(1, 'x')])).toMatch(refused);
  await checkTokenKeys(pool, [keyOf(3, 'd'), second]); // the refused process left nothing
  await expect(checkTokenKeys(pool, [third])).rejects.toThrow(/the id 3/);
  const started = [keyOf(4, 'e'), keyOf(4, 'f')].map((key) => checkTokenKeys(pool, [key]));
  expect((await Promise.allSettled(started)).map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  await close();
});

test('a process whose clock differs from the database by over a minute is not ready', async () => {
  let nowMs = Date.now();
  const t = await createTestApp({ now: () => nowMs });
  const ready = async () => (await t.app.inject('/health/ready')).json();
  await expect.poll(ready).toMatchObject({ status: 'ok', clock: true });
  nowMs = Date.now() + 120_000;
  await expect.poll(ready).toMatchObject({ status: 'unavailable', clock: false, database: true });
  nowMs = Date.now();
  await expect.poll(ready).toMatchObject({ status: 'ok', clock: true });
  await t.close();
});

/** Runs the built server until it exits. */
async function run(env: Record<string, string>): Promise<{ code: number | null; stderr: string }> {
  await ensureBuilt();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['dist/server.js'], {
      env: { ...process.env, ...processSecrets, PUBLIC_URL: 'http://perks.test', LOG_LEVEL: 'fatal', ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (text) => {
      stderr += text;
    });
    child.once('close', (code) => resolve({ code, stderr }));
  });
}

/** Starts the built server, and stops it once it has logged what it is waiting for. */
async function untilWaiting(waitsFor: string, env: Record<string, string>): Promise<void> {
  await ensureBuilt();
  const child = spawn(process.execPath, ['dist/server.js'], {
    env: { ...process.env, ...processSecrets, PUBLIC_URL: 'http://perks.test', LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let written = '';
  child.stdout.on('data', (text) => {
    written += text;
  });
  await expect.poll(() => written).toMatch(new RegExp(`"waitsFor":"[^"]*${waitsFor}[^"]*","msg":"startup is waiting"`));
  child.kill('SIGKILL');
  await once(child, 'exit');
}

// Long timeout: the starts wait for their retries.
test('a waiting start logs its reason, such as an unreachable database or the migration lock', {
  timeout: timeLimit(120_000),
}, async () => {
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as { port: number };
  const PORT = String(await freePort());
  await untilWaiting(`the database at 127.0.0.1:${port}`, {
    DATABASE_URL: `postgres://user:secret@127.0.0.1:${port}/x`,
    PORT,
  });
  silent.close();

  const clone = await clonePool(1);
  await clone.pool.query("select pg_advisory_lock(hashtext('perkwire_migrate'))");
  await untilWaiting('are locked by another process', { DATABASE_URL: clone.url, PORT });
  await clone.close();
});

test('the process exits with code 1 and one sentence without a stack trace', async () => {
  const clone = await prepare('drop table schema_migrations');
  const { code, stderr } = await run({ DATABASE_URL: clone.url, PORT: String(await freePort()) });
  expect(code).toBe(1);
  expect(stderr).toBe(
    'DATABASE_URL: the database contains tables of another program. Create one for Perkwire: createdb perkwire.\n',
  );
  await clone.drop();
});

test('a process whose port is in use exits with code 1 without registering a worker', async () => {
  const clone = await cloneDatabase();
  const blocker = createServer();
  await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
  const { port } = blocker.address() as { port: number };
  const { code, stderr } = await run({ DATABASE_URL: clone.url, PORT: String(port) });
  expect([code, stderr]).toEqual([1, expect.stringContaining(`127.0.0.1:${port} is in use by another program`)]);
  const pool = createPool({ url: clone.url, size: 1, applicationName: 'perkwire-test', onError: () => {} });
  expect((await pool.query('select * from dispatcher_workers')).rows).toEqual([]);
  expect((await pool.query('select * from processes')).rows).toEqual([]);
  blocker.close();
  await pool.end();
  await clone.drop();
});

// Long timeout: each statement of a start fails once.
test('a start survives connections to the database that break at any statement', {
  timeout: timeLimit(120_000),
}, async () => {
  const clone = await cloneDatabase();
  /** Number of broken connections per application. */
  const broken: Record<string, number> = {};
  const proxy = await startProxy(clone.url, () => {
    let [application, chunks] = ['', 0];
    return (bytes) => {
      chunks += 1;
      application ||= /application_name\0([^\0]+)/.exec(bytes.toString('latin1'))?.[1] ?? '';
      // The first connection of an application breaks during sign-in. Each later connection breaks one statement later.
      const breaks = broken[application] ?? 0;
      if (application === '' || breaks === 5 || chunks !== breaks + 3) return false;
      broken[application] = breaks + 1;
      return true;
    };
  });
  try {
    const { stop } = await startServerProcess({ databaseUrl: proxy.url, env: { LOG_LEVEL: 'fatal' } });
    expect(await stop()).toBe(0);
  } finally {
    proxy.close();
    await clone.drop();
  }
  for (const application of ['perkwire-start', 'perkwire-migrate', 'perkwire-restored', 'perkwire'])
    expect(broken[application], application).toBeGreaterThan(2);
});
