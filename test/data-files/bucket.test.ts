import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { exportInThread } from '../../src/data-files/export/start-thread.ts';
import { readFiles } from '../../src/data-files/manifest.ts';
import { readExportState } from '../../src/data-files/status.ts';
import { createStorage, type Storage } from '../../src/data-files/storage.ts';
import type { LoopJob } from '../../src/platform/jobs.ts';
import { runCommand } from '../command-line/support.ts';
import { createTestModules, type TestBase } from '../support/test-modules.ts';
import { createTestFolder, exportAll, verifyAll } from './support.ts';

type Failure = { status: number; code: string } | 'hangs up';

/** Bucket with pages of two keys, which fails calls on demand. */
async function startBucket() {
  const objects = new Map<string, Buffer>();
  const state = {
    failure: null as Failure | null,
    puts: 0,
    failsAfterPuts: 0,
    /** Time after which a PUT succeeds, in milliseconds. */
    putMs: 0,
    openPuts: 0,
  };
  const server: Server = createServer(async (request, response) => {
    const url = new URL(request.url as string, 'http://bucket');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const key = decodeURIComponent(url.pathname.replace('/data/', ''));
    if (request.method === 'PUT') state.puts += 1;
    if (request.method === 'PUT' && state.failure !== null && state.puts > state.failsAfterPuts) {
      if (state.failure === 'hangs up') return void request.socket.destroy();
      return void response.writeHead(state.failure.status).end(`<Error><Code>${state.failure.code}</Code></Error>`);
    }
    if (request.method === 'PUT') {
      state.openPuts += 1;
      if (state.putMs > 0) await setTimeout(state.putMs);
      objects.set(key, Buffer.concat(chunks));
      state.openPuts -= 1;
      return void response.end();
    }
    if (request.method === 'DELETE') {
      objects.delete(key);
      return void response.writeHead(204).end();
    }
    if (!url.searchParams.has('list-type')) {
      const object = objects.get(key);
      return void response.writeHead(object === undefined ? 404 : 200).end(object);
    }
    const prefix = url.searchParams.get('prefix') as string;
    const after = url.searchParams.get('continuation-token') ?? '';
    const keys = [...objects.keys()].filter((name) => name.startsWith(prefix) && name > after).sort();
    const page = keys.slice(0, 2);
    const next = keys.length > 2 ? `<NextContinuationToken>${page[1]}</NextContinuationToken>` : '';
    response.end(`<ListBucketResult>${page.map((name) => `<Key>${name}</Key>`).join('')}${next}</ListBucketResult>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { objects, state, server, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

let t: TestBase;
let bucket: Awaited<ReturnType<typeof startBucket>>;
let storage: Storage;
beforeAll(async () => {
  bucket = await startBucket();
  const setting = {
    kind: 's3' as const,
    endpoint: bucket.endpoint,
    region: 'eu-central-1',
    bucket: 'data',
    prefix: 'perks/',
    accessKeyId: 'id',
    secretAccessKey: 'secret',
  };
  storage = createStorage(setting);
  t = await createTestModules(['tracking', 'data-files'], { config: { dataFiles: setting } });
});
afterAll(async () => {
  await t?.close();
  bucket?.server.close();
});
beforeEach(() => Object.assign(bucket.state, { failure: null, puts: 0, failsAfterPuts: 0, putMs: 0 }));

const addEvents = (): Promise<unknown> =>
  t.pool.query(
    `insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at)
    select current_date - n % 2, gen_random_uuid(), 1, 'impression', 1 + n % 3, 1, 1, now()
    from generate_series(1, 100) as n`,
  );

const isComplete = async (): Promise<boolean> => {
  const { rows } = await t.pool.query<{ count: string }>('select count(*) from events');
  const { current } = await readFiles(storage);
  const filed = current.filter(({ table }) => table === 'events').reduce((sum, { rows }) => sum + rows, 0);
  return filed === Number(rows[0]?.count) && (await verifyAll(t, storage)).length === 0;
};

test.each<[string, Failure, RegExp]>([
  ['is full', { status: 507, code: 'InsufficientStorage' }, /507 to PUT: InsufficientStorage/],
  ['is overloaded', { status: 503, code: 'SlowDown' }, /503 to PUT: SlowDown/],
  ['loses its rights in the middle of an export', { status: 403, code: 'AccessDenied' }, /403 to PUT: AccessDenied/],
  ['breaks connections', 'hangs up', /did not respond/],
])('a bucket that %s delays the export, and no row is lost or repeated', async (_, failure, message) => {
  await addEvents();
  Object.assign(bucket.state, { failure, failsAfterPuts: 2 });
  await expect(exportAll(t, storage)).rejects.toThrow(message);
  expect(await isComplete()).toBe(false);
  bucket.state.failure = null;
  await exportAll(t, storage);
  expect(await isComplete()).toBe(true);
});

test('a failed export ends after its uploads, so that they add no file to the next attempt', async () => {
  await addEvents();
  Object.assign(bucket.state, { failure: { status: 403, code: 'AccessDenied' }, failsAfterPuts: 1, putMs: 300 });
  await expect(exportAll(t, storage)).rejects.toThrow('AccessDenied');
  expect(bucket.state.openPuts).toBe(0);
  Object.assign(bucket.state, { failure: null, putMs: 0 });
  await exportAll(t, storage);
  expect(await isComplete()).toBe(true);
});

test('two processes never export at the same time', async () => {
  await addEvents();
  const results = await Promise.all([exportAll(t, storage), exportAll(t, storage), exportAll(t, storage)]);
  expect(results.filter(({ state }) => state === 'busy').length).toBeGreaterThan(0);
  await exportAll(t, storage);
  expect(await isComplete()).toBe(true);
});

test('the job exports an hour that has ended in a thread, and shows operators why it fails', async () => {
  const setting = t.deps.config.dataFiles;
  if (setting === null) throw new Error('no data files');
  const job = t.contributions.modules.flatMap(({ jobs }) => jobs?.(t.contributions) ?? []) as LoopJob[];
  const run = job.find(({ name }) => name === 'data files')?.run;
  await exportAll(t, storage);
  await addEvents();
  const input = { databaseUrl: t.databaseUrl, setting, atOnce: false };
  expect(await exportInThread(input, () => false)).toEqual({ state: 'nothing due' });
  await t.pool.query("update data_file_runs set planned_at = planned_at - interval '1 hour'");
  expect(await exportInThread(input, () => false)).toEqual({ state: 'nothing due' });
  // The run waits until its sessions and attempts have ended.
  await t.pool.query("update data_file_runs set planned_at = planned_at - interval '2 minutes'");
  bucket.state.failure = { status: 403, code: 'AccessDenied' };
  await expect(run?.(() => false)).rejects.toThrow('AccessDenied');
  expect((await readExportState(t.pool, Date.now())).failure?.error).toBe(
    'The bucket responded with 403 to PUT: AccessDenied',
  );
  bucket.state.failure = null;
  await run?.(() => false);
  expect((await readExportState(t.pool, Date.now())).failure).toBe(null);
  expect(await isComplete()).toBe(true);
});

test('an export by a command that fails is shown by data status, until an export succeeds', async () => {
  await addEvents();
  const env = {
    DATABASE_URL: t.databaseUrl,
    DATA_FILES_URL: `s3://data/perks?endpoint=${bucket.endpoint}&region=eu-central-1`,
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'secret',
  };
  bucket.state.failure = { status: 403, code: 'AccessDenied' };
  expect((await runCommand(['data', 'export'], env)).code).not.toBe(0);
  const failed = await runCommand(['data', 'status'], env);
  expect(failed.out).toContain('The bucket responded with 403 to PUT: AccessDenied');
  expect(failed.code).toBe(1);
  bucket.state.failure = null;
  expect((await runCommand(['data', 'export'], env)).code).toBe(0);
  expect((await runCommand(['data', 'status'], env)).code).toBe(0);
});

test('an export never continues in another place, where the earlier rows would be missing', async () => {
  await addEvents();
  await exportAll(t, storage);
  const other = await createTestFolder();
  try {
    await addEvents();
    await expect(exportAll(t, other.storage)).rejects.toThrow(
      /does not contain run \d+ of this export\. Set DATA_FILES_URL to the location of the earlier runs/,
    );
    expect(await other.storage.list('')).toEqual([]);
    // Manifests of another export, such as one before "data restart", are not mistaken for those of this export.
    const { rows } = await t.pool.query<{ id: number }>('select max(id) as id from data_file_runs');
    const id = rows[0]?.id ?? 0;
    for (const run of [id - 1, id]) {
      const name = `_manifests/run-${String(run).padStart(8, '0')}.json`;
      await other.storage.put(name, Buffer.from(JSON.stringify({ run, transactions: { until: '7' }, files: [] })));
      await expect(exportAll(t, other.storage)).rejects.toThrow(`does not contain run ${run} of this export`);
    }
    await exportAll(t, storage);
    expect(await isComplete()).toBe(true);
  } finally {
    await other.remove();
  }
});

test('a clock that jumps neither loses nor repeats rows', async () => {
  for (const jump of ['-3 hours', '5 hours', '-1 minute']) {
    await addEvents();
    await t.pool.query('update data_file_runs set planned_at = planned_at + $1::interval where confirmed_at is null', [
      jump,
    ]);
    await t.pool.query('update data_file_runs set planned_at = planned_at + $1::interval', [jump]);
    await exportAll(t, storage);
    expect(await isComplete()).toBe(true);
  }
});

test('an export that is behind is shown', async () => {
  const behind = await readExportState(t.pool, Date.now() + 24 * 3_600_000);
  expect([behind.isBehind, (await readExportState(t.pool, Date.now())).runs.length > 1]).toEqual([true, true]);
});
