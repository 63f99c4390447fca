import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compactDataFiles } from '../../src/data-files/compact.ts';
import { manifestOfRun, readFiles } from '../../src/data-files/manifest.ts';
import type { Storage } from '../../src/data-files/storage.ts';
import { createTestModules, type TestBase } from '../support/test-modules.ts';
import { timeLimit } from '../support/time-limit.ts';
import { compactAll, createTestFolder, duckdb, exportAll, verifyAll } from './support.ts';

let t: TestBase;
let folder: Awaited<ReturnType<typeof createTestFolder>>;
beforeAll(async () => {
  [t, folder] = await Promise.all([createTestModules(['tracking', 'data-files']), createTestFolder()]);
});
afterAll(async () => {
  await t?.close();
  await folder?.remove();
});

const script = fileURLToPath(new URL('killed-export.ts', import.meta.url));

/** Runs an export in a process that kills itself at a step. Returns its number of steps, or null if it was killed. */
const exportAndDie = (killAt: number): Promise<number | null> =>
  new Promise((resolve, reject) => {
    const args = ['--import', 'tsx', script, t.databaseUrl, folder.path, String(killAt)];
    execFile(process.execPath, args, (err, stdout, stderr) => {
      if (err === null) resolve(Number(stdout));
      else if (err.signal === 'SIGKILL') resolve(null);
      else reject(new Error(stderr, { cause: err }));
    });
  });

/** Stores events and bookings of several days and publishers, each in a transaction of its own. */
async function addRows(): Promise<void> {
  await t.pool.query(
    `insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at)
    select current_date - n % 2, gen_random_uuid(), 1, 'impression', 1 + n % 3, 1, 1, now()
    from generate_series(1, 200) as n`,
  );
  await t.pool.query(
    `insert into bookings (day, session_id, id, publisher_id, offer_id, campaign_id, at, conversions, revenue_micros)
    select current_date, gen_random_uuid(), gen_random_uuid(), 1, 1, 1, now(), 1, n
    from generate_series(1, 20) as n`,
  );
}

const kills = 24;

test('each row is exported exactly once, however often the export is killed, at any step', {
  timeout: timeLimit(180_000), // starts a process for each kill
}, async () => {
  await addRows();
  const steps = (await exportAndDie(0)) as number;
  expect(steps).toBeGreaterThan(20);
  let killed = 0;
  for (const killAt of fc.sample(fc.integer({ min: 1, max: steps }), kills)) {
    await addRows();
    if ((await exportAndDie(killAt)) === null) killed += 1;
  }
  expect(killed).toBeGreaterThanOrEqual(20);
  await exportAll(t, folder.storage);
  await exportAll(t, folder.storage);
  expect(await verifyAll(t, folder.storage)).toEqual([]);
  const { rows } = await t.pool.query(
    `select (select count(*) from events)::text as events, (select count(*) from bookings)::text as bookings,
      (select sum(revenue_micros) from bookings)::text as revenue`,
  );
  const read = (table: string): string => `read_parquet('${folder.path}/${table}/*/*/*.parquet')`;
  const filed = await duckdb(
    `select (select count(*) from ${read('events')}) as events,
      (select count(distinct session_id) from ${read('events')}) as distinct_events,
      (select count(*) from ${read('bookings')}) as bookings,
      (select sum(revenue_micros)::bigint from ${read('bookings')}) as revenue`,
  );
  expect(filed).toEqual([{ ...rows[0], distinct_events: rows[0].events }]);
});

/** Returns a storage whose calls fail from a certain call on. */
function failingFrom(inner: Storage, call: number): Storage {
  let calls = 0;
  const check = (): void => {
    calls += 1;
    if (calls >= call) throw new Error('the storage failed');
  };
  return {
    put: async (name, bytes) => {
      check();
      return inner.put(name, bytes);
    },
    get: inner.get,
    list: inner.list,
    listUnfinished: inner.listUnfinished,
    remove: async (name) => {
      check();
      return inner.remove(name);
    },
  };
}

test('a compaction that fails at any step leaves the data unchanged, and can be repeated', async () => {
  const countEvents = async (): Promise<number> => {
    const { current } = await readFiles(folder.storage);
    return current.filter(({ table }) => table === 'events').reduce((sum, { rows }) => sum + rows, 0);
  };
  const before = await countEvents();
  let failures = 0;
  for (let call = 1; failures < 100; call++) {
    const compaction = await compactDataFiles(failingFrom(folder.storage, call), compactAll).catch(() => null);
    expect(await countEvents()).toBe(before);
    if (compaction !== null) break;
    failures += 1;
  }
  expect(failures).toBeGreaterThan(5);
  expect(await verifyAll(t, folder.storage)).toEqual([]);
});

test('a compaction that lost its lock neither writes a manifest nor removes a file', async () => {
  await addRows();
  await exportAll(t, folder.storage);
  const manifests = await folder.storage.list('_manifests/');
  const files = await folder.storage.list('events/');
  const checkLock = async (): Promise<never> => {
    throw new Error('the connection broke');
  };
  await expect(compactDataFiles(folder.storage, { ...compactAll, checkLock })).rejects.toThrow('the connection broke');
  expect(await folder.storage.list('_manifests/')).toEqual(manifests);
  expect(await folder.storage.list('events/')).toEqual(expect.arrayContaining(files));
  let checks = 0;
  const loseLater = async (): Promise<void> => {
    checks += 1;
    if ((await folder.storage.list('_manifests/')).length > manifests.length) throw new Error('it broke later');
  };
  await expect(compactDataFiles(folder.storage, { ...compactAll, checkLock: loseLater })).rejects.toThrow('later');
  expect(checks).toBeGreaterThan(1);
  expect(await folder.storage.list('events/')).toEqual(expect.arrayContaining(files));
  expect(await compactDataFiles(folder.storage, compactAll)).not.toMatchObject({ removed: 0 });
  expect(await verifyAll(t, folder.storage)).toEqual([]);
});

test('a compaction leaves the files of a run that has no manifest yet', async () => {
  await addRows();
  await exportAll(t, folder.storage);
  const { lastRun } = await readFiles(folder.storage);
  const next = `events/date=2026-01-01/publisher=1/run-${String(lastRun + 1).padStart(8, '0')}-1-1.parquet`;
  await folder.storage.put(next, Buffer.from('rows of a running export'));
  await compactDataFiles(folder.storage, compactAll);
  expect(await folder.storage.get(next)).not.toBe(null);
  await folder.storage.remove(next);
});

test('the leftovers of a killed write are hidden from readers, and a compaction removes them', async () => {
  const path = `events/date=2026-01-01/publisher=1/run-00000001-1-9.parquet.${randomUUID()}.tmp`;
  const manifest = `${manifestOfRun(9999)}.${randomUUID()}.tmp`;
  const foreign = 'events/notes.tmp';
  for (const name of [path, manifest, foreign]) await folder.storage.put(name, Buffer.from('a part'));
  expect(await folder.storage.list('events/')).not.toContain(path);
  expect(await compactDataFiles(folder.storage, compactAll)).toMatchObject({ removed: 2 });
  const remaining = await Promise.all([path, manifest, foreign].map((name) => folder.storage.get(name)));
  expect(remaining.map((bytes) => bytes !== null)).toEqual([false, false, true]);
});
