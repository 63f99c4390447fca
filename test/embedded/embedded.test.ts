import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, chmod, mkdir, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { type BinaryPackage, prepareBinaries } from '../../src/embedded/binaries.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/embedded/postgres.ts';
import { databaseFolder } from '../support/database-folder.ts';

const embedded = fileURLToPath(new URL('../../src/embedded/postgres.ts', import.meta.url));
const isRoot = process.getuid?.() === 0;

const servers: EmbeddedPostgres[] = [];
const children: ChildProcess[] = [];
const folders: string[] = [];

/** Creates a folder that the server's user can access, so that the cluster stays inside it. */
async function newFolder(): Promise<string> {
  const folder = await realpath(await databaseFolder('perkwire-embedded-'));
  folders.push(folder);
  return folder;
}

async function start(dataDir: string, flags: string[] = []): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, flags });
  servers.push(server);
  return server;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows.flat();
  } finally {
    await client.end();
  }
}

interface OtherProcess {
  child: ChildProcess;
  url: string;
  reused: boolean;
}

/** Starts the database in a separate process, which stops when it reads one byte from its input. */
async function startElsewhere(dataDir: string): Promise<OtherProcess> {
  const script = `
    import { startEmbeddedPostgres } from ${JSON.stringify(embedded)};
    const server = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} });
    console.log(JSON.stringify({ url: server.url, reused: server.reused }));
    process.stdin.once('data', async () => { await server.stop(); process.exit(0); });
  `;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  const [line] = await once(child.stdout, 'data');
  return { child, ...JSON.parse(String(line)) };
}

async function stopElsewhere({ child }: OtherProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.stdin?.write('.');
  expect(await exited).toEqual([0, null]);
}

async function postmasterPid(dataDir: string): Promise<number> {
  return Number((await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0]);
}

async function killAndWait(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

afterAll(async () => {
  for (const child of children) if (child.exitCode === null && child.signalCode === null) await killAndWait(child);
  for (const server of servers) await server.stop();
  // A failed test may have left a server running whose parent has ended. Attach to it in order to stop it.
  for (const folder of folders)
    if (await exists(join(folder, 'postgres/postmaster.pid')))
      await (await startEmbeddedPostgres({ dataDir: folder })).stop();
  for (const folder of folders) {
    const moved = await readFile(join(folder, 'postgres.location'), 'utf8').catch(() => undefined);
    if (moved !== undefined) await rm(dirname(moved.trim()), { recursive: true, force: true });
    await rm(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 });
  }
});

describe('the embedded database', () => {
  test('is durable, uses UTF-8, requires its password, and keeps its data after a restart', async () => {
    const dataDir = await newFolder();
    const first = await start(dataDir);
    expect(first.reused).toBe(false);
    expect(
      await query(first.url, `SELECT current_setting('fsync'), current_setting('server_encoding'), upper('é')`),
    ).toEqual(['on', 'UTF8', 'É']);
    expect(await query(first.url, 'SHOW listen_addresses')).toEqual(['127.0.0.1']);
    expect((await stat(join(dataDir, 'postgres-password'))).mode & 0o777).toBe(0o600);
    await expect(query(first.url.replace(/perkwire:[^@]+/, 'perkwire:wrong'), 'SELECT 1')).rejects.toMatchObject({
      code: '28P01',
    });
    expect(first.url).toMatch(/^postgres:\/\/perkwire:[\w-]{32}@127\.0\.0\.1:\d+\/perkwire$/);
    await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    await first.stop();
    await expect(query(first.url, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    const second = await start(dataDir, ['fsync=off', 'max_connections=17']);
    expect(second.reused).toBe(false);
    expect(await query(second.url, `SELECT current_setting('fsync'), current_setting('max_connections')`)).toEqual([
      'off',
      '17',
    ]);
    expect(await query(second.url, 'SELECT n FROM kept')).toEqual([7]);
    expect(await readFile(join(dataDir, 'postgres.log'), 'utf8')).not.toContain('was not properly shut down');
    await second.stop();
    await second.stop();
  });

  test('survives a kill -9 of the process that started it, and the next process takes it over', async () => {
    const dataDir = await newFolder();
    const other = await startElsewhere(dataDir);
    await query(other.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    await killAndWait(other.child);
    const next = await start(dataDir);
    expect(next).toMatchObject({ reused: true, url: other.url });
    expect(await query(next.url, 'SELECT n FROM kept')).toEqual([7]);
    await next.stop();
    await expect(query(next.url, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('recovers all committed rows on the same port after a kill -9 of PostgreSQL itself', async () => {
    const dataDir = await newFolder();
    const first = await start(dataDir);
    await query(first.url, 'CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n');
    process.kill(await postmasterPid(dataDir), 'SIGKILL');
    const second = await start(dataDir);
    expect(second).toMatchObject({ reused: false, url: first.url });
    expect(await query(second.url, 'SELECT count(*)::int FROM kept')).toEqual([1000]);
    await first.stop();
    expect(await query(second.url, 'SELECT 1')).toEqual([1]);
    await second.stop();
  });

  test('runs one server for two processes that start concurrently, and stops with the last of them', async () => {
    const dataDir = await newFolder();
    const [one, two] = await Promise.all([startElsewhere(dataDir), startElsewhere(dataDir)]);
    expect(one.url).toBe(two.url);
    expect([one.reused, two.reused].sort()).toEqual([false, true]);
    await stopElsewhere(one);
    expect(await query(two.url, 'SELECT 1')).toEqual([1]);
    await stopElsewhere(two);
    await expect(query(two.url, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(await exists(join(dataDir, 'postgres.lock'))).toBe(false);
    expect(await readdir(join(dataDir, 'attached'))).toEqual([]);
  });

  test('starts even if its last process ID now belongs to another program', async () => {
    const dataDir = await newFolder();
    const first = await start(dataDir);
    const pidFile = join(dataDir, 'postgres/postmaster.pid');
    const lines = (await readFile(pidFile, 'utf8')).split('\n');
    await first.stop();
    // Run as the PostgreSQL user, because PostgreSQL ignores processes of other users.
    const { uid, gid } = await stat(join(dataDir, 'postgres'));
    const sleeper = spawn('sleep', ['600'], isRoot ? { uid, gid } : {});
    children.push(sleeper);
    await writeFile(pidFile, [sleeper.pid, ...lines.slice(1)].join('\n'));
    const second = await start(dataDir);
    expect(second.reused).toBe(false);
    expect(await query(second.url, 'SELECT 1')).toEqual([1]);
    await second.stop();
    expect(sleeper.exitCode ?? sleeper.signalCode).toBeNull();
  });

  test('starts after a kill -9 during its first start', async () => {
    const dataDir = await newFolder();
    const script = `import { startEmbeddedPostgres } from ${JSON.stringify(embedded)};
      await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} });`;
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script]);
    children.push(child);
    while (!(await readdir(dataDir)).some((name) => name.startsWith('postgres.init-'))) await sleep(5);
    await killAndWait(child);
    expect(await exists(join(dataDir, 'postgres'))).toBe(false);
    const next = await start(dataDir);
    expect(next.reused).toBe(false);
    expect(await query(next.url, 'SELECT 1')).toEqual([1]);
    await next.stop();
  });

  test('ends a failed start with an error that contains the end of the log', async () => {
    await expect(start(await newFolder(), ['shared_buffers=nonsense'])).rejects.toThrow(
      /ended while starting.+shared_buffers/s,
    );
  });

  test('does not keep the process alive', async () => {
    const dataDir = await newFolder();
    const script = `import { startEmbeddedPostgres } from ${JSON.stringify(embedded)};
      await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} });`;
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
      stdio: 'inherit',
    });
    children.push(child);
    expect(await once(child, 'exit')).toEqual([0, null]);
    const next = await start(dataDir);
    expect(next.reused).toBe(true);
    await next.stop();
  });
});

describe.skipIf(!isRoot)('the embedded database run by root', () => {
  test('works below a directory that only root can enter, and finds its data again after a restart', async () => {
    const dataDir = join(await newFolder(), 'closed');
    await mkdir(dataDir, { mode: 0o700 });
    folders.unshift(dataDir);
    const logged: object[] = [];
    const first = await startEmbeddedPostgres({ dataDir, log: (details) => logged.push(details) });
    servers.push(first);
    const location = (await readFile(join(dataDir, 'postgres.location'), 'utf8')).trim();
    expect(logged).toEqual([expect.objectContaining({ folder: location })]);
    await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    await first.stop();
    const second = await start(dataDir);
    expect(await query(second.url, 'SELECT n FROM kept')).toEqual([7]);
    await second.stop();
  });

  test('copies programs that only root can read, repairs the copy, and runs no files of other users', async () => {
    const folder = join(await newFolder(), 'closed');
    await mkdir(join(folder, 'native/bin'), { recursive: true });
    await mkdir(join(folder, 'native/lib'));
    await chmod(folder, 0o700);
    for (const name of ['bin/postgres', 'bin/initdb', 'bin/pg_ctl', 'lib/libpq.so.5.18'])
      await writeFile(join(folder, 'native', name), 'x');
    const symlinks = [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }];
    await writeFile(join(folder, 'native/pg-symlinks.json'), JSON.stringify(symlinks));
    const bin = (name: string) => join(folder, 'native/bin', name);
    const version = `test-${process.pid}`;
    const binaryPackage: BinaryPackage = {
      binaries: { postgres: bin('postgres'), initdb: bin('initdb'), pg_ctl: bin('pg_ctl') },
      folder,
      version,
    };
    const account = { uid: 65_534, gid: 65_534 };
    const copy = join(tmpdir(), `perkwire-postgres-${version}-${account.uid}`);
    folders.push(copy);
    expect((await prepareBinaries(binaryPackage, account)).postgres).toBe(join(copy, 'native/bin/postgres'));
    expect(await readFile(join(copy, 'native/lib/libpq.so.5'), 'utf8')).toBe('x');
    await rm(join(copy, 'native/bin/initdb'));
    await prepareBinaries(binaryPackage, account);
    expect(await exists(join(copy, 'native/bin/initdb'))).toBe(true);
    await chmod(copy, 0o777);
    await expect(prepareBinaries(binaryPackage, account)).rejects.toThrow(/was not created by this user/);
  });
});
