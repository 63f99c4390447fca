import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compactDataFiles } from '../../src/data-files/compact.ts';
import { dueRun } from '../../src/data-files/export/run.ts';
import { defaultLimits } from '../../src/data-files/export/write-table.ts';
import { readFiles } from '../../src/data-files/manifest.ts';
import { dataTables } from '../../src/data-files/tables.ts';
import { dayOf } from '../../src/platform/lib/time.ts';
import { continueRestoredRollups } from '../../src/reports/restored.ts';
import { runCommand } from '../command-line/support.ts';
import { activity, rollUpAll } from '../reports/support.ts';
import { moveAhead } from '../support/restored.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { call, fetchOffers } from '../tracking/journey.ts';
import { compactAll, createTestFolder, duckdb, exportAll, verifyAll } from './support.ts';

let t: TestApp;
let folder: Awaited<ReturnType<typeof createTestFolder>>;
beforeAll(async () => {
  [t, folder] = await Promise.all([createTestApp(), createTestFolder()]);
});
afterAll(async () => {
  await t?.close();
  await folder?.remove();
});

/** Fetches offers, sends an impression for each, and clicks the first one. */
async function visit(body: Record<string, unknown> = {}): Promise<string> {
  const { sessionId, offers } = await fetchOffers(t, body);
  for (const { pixel } of offers) await call(t, pixel);
  await call(t, offers[0]?.click_url as string);
  return sessionId;
}

const rowsOf = async (table: string): Promise<number> => {
  const { current } = await readFiles(folder.storage);
  return current.filter((file) => file.table === table).reduce((sum, { rows }) => sum + rows, 0);
};

test('an export writes each row once, and a later one only the rows since', async () => {
  await visit({ pub_user_id: 'u-1' });
  expect(await exportAll(t, folder.storage)).toMatchObject({ state: 'exported', run: 1 });
  const before = await rowsOf('sessions');
  await visit();
  await visit();
  await exportAll(t, folder.storage);
  await exportAll(t, folder.storage);
  expect((await rowsOf('sessions')) - before).toBe(2);
  await rollUpAll(t);
  expect(await verifyAll(t, folder.storage)).toEqual([]);
});

test('a manual export also contains the rows since a planned run', async () => {
  await t.pool.query("update data_file_runs set planned_at = planned_at - interval '1 hour'");
  expect(await dueRun(t.pool, false)).toBe(null); // the run is planned, and waits until its attempts have ended
  const before = await rowsOf('sessions');
  await visit();
  await exportAll(t, folder.storage);
  expect((await rowsOf('sessions')) - before).toBe(1);
});

test('a row of a transaction that was open during an export is in the next one', async () => {
  const client = await t.pool.connect();
  await client.query('begin');
  await client.query(
    `insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at)
    values (current_date, gen_random_uuid(), 1, 'impression', 1, 1, 1, now())`,
  );
  await visit();
  await exportAll(t, folder.storage);
  const before = await rowsOf('events');
  await client.query('commit');
  client.release();
  await exportAll(t, folder.storage);
  expect((await rowsOf('events')) - before).toBe(1);
  expect(await verifyAll(t, folder.storage)).toEqual([]);
});

test('users are in the files only as keyed hashes', async () => {
  await visit({ pub_user_id: 'someone-secret', ad_fp: 'device-secret' });
  await exportAll(t, folder.storage);
  const { current } = await readFiles(folder.storage);
  for (const { path } of current)
    expect((await readFile(`${folder.path}/${path}`)).toString('latin1')).not.toMatch(/someone-secret|device-secret/);
  const [row] = await duckdb(
    `select count(distinct user_key) as users from read_parquet('${folder.path}/sessions/*/*/*.parquet')`,
  );
  expect(Number(row?.users)).toBeGreaterThanOrEqual(2);
});

test('one line of DuckDB reads a table, and its totals match those of the reports', async () => {
  await visit({ placement: 'wallet' });
  await exportAll(t, folder.storage);
  await rollUpAll(t);
  const metrics = (await activity(t))[0]?.metrics;
  const [events] = await duckdb(
    `select count(*) filter (where kind = 'impression') as impressions,
      count(*) filter (where kind = 'click') as clicks, coalesce(sum(revenue_micros), 0)::bigint as revenue
    from read_parquet('${folder.path}/events/*/*/*.parquet', hive_partitioning = true)
    where publisher = ${t.publisher.id} and date = '${dayOf(Date.now())}' and suspicious is null
      and session_id not in (select session_id from read_parquet('${folder.path}/sessions/*/*/*.parquet') where dev)`,
  );
  const [sessions] = await duckdb(
    `select count(*) as sessions, min(created_at) > now() - interval 1 day as recent
    from read_parquet('${folder.path}/sessions/*/*/*.parquet') where not dev`,
  );
  expect({ ...events, ...sessions }).toEqual({
    impressions: String(metrics?.impressions),
    clicks: String(metrics?.clicks),
    revenue: String(metrics?.revenue_micros),
    sessions: String(metrics?.sessions),
    recent: true,
  });
});

test('every table can be read, and its columns are as documented', async () => {
  const guide = await readFile('docs/guides/data-files.md', 'utf8');
  const { current } = await readFiles(folder.storage);
  for (const { name, columns } of dataTables) {
    expect(guide).toContain(`\`${name}\``);
    const file = current.find(({ table }) => table === name);
    if (file === undefined) continue;
    const described = await duckdb(`describe select * from read_parquet('${folder.path}/${file.path}')`);
    expect(described.map(({ column_name }) => column_name).slice(0, Object.keys(columns).length)).toEqual(
      Object.keys(columns),
    );
  }
});

test('the DuckDB commands of the guide count what is in the database', async () => {
  // Whether the clicks of visits are too fast to count depends on the machine.
  await t.pool.query(
    `insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at)
    values (current_date, gen_random_uuid(), 1, 'click', $1, 1, 1, now())`,
    [t.publisher.id],
  );
  await exportAll(t, folder.storage);
  const guide = await readFile('docs/guides/data-files.md', 'utf8');
  const section = guide.slice(guide.indexOf('\nDuckDB, '), guide.indexOf('\nTrino, '));
  const commands = [...section.matchAll(/```sql\n([^`]+)```/g)].map(([, sql = '']) =>
    sql.replaceAll('PATH', folder.path).replace('current_date - 1', 'current_date'),
  );
  const results = await Promise.all(commands.map(duckdb));
  const { rows } = await t.pool.query(
    `select (select count(*)::text from events where kind = 'click' and suspicious is null) as clicks,
      (select count(*)::text from events) as events`,
  );
  expect(results).toEqual([
    [{ publisher: String(t.publisher.id), clicks: rows[0].clicks }],
    [{ events: rows[0].events }],
  ]);
});

describe('verification', () => {
  test('names a file that was changed or is missing', async () => {
    const { current } = await readFiles(folder.storage);
    const [file] = current.filter(({ table }) => table === 'events');
    const path = file?.path as string;
    const bytes = (await folder.storage.get(path)) as Buffer;
    await folder.storage.put(path, bytes.subarray(1));
    expect(await verifyAll(t, folder.storage)).toEqual([
      { what: path, problem: 'the size or checksum of the file differs from the manifest' },
    ]);
    await folder.storage.remove(path);
    expect(await verifyAll(t, folder.storage)).toEqual([{ what: path, problem: 'the file is missing' }]);
    await folder.storage.put(path, bytes);
    expect(await verifyAll(t, folder.storage)).toEqual([]);
  });

  test('names the partition in which a row is missing', async () => {
    const day = dayOf(Date.now());
    const { rows } = await t.pool.query<{ session_id: string }>(
      `delete from events where ctid = (select ctid from events where day = $1 limit 1) and day = $1
      returning *`,
      [day],
    );
    expect(rows).toHaveLength(1);
    const [difference] = await verifyAll(t, folder.storage);
    expect(difference?.what).toBe(`events date=${day} publisher=1`);
    const [row] = rows;
    await t.pool.query('insert into events select * from json_populate_record(null::events, $1)', [row]);
    expect(await verifyAll(t, folder.storage)).toEqual([]);
  });
});

test('a compaction merges files without changing the data, and removes erased users', async () => {
  const sessionId = await visit({ pub_user_id: 'to-be-erased' });
  await exportAll(t, folder.storage);
  await t.pool.query(
    `insert into data_file_erasures (day, session_id, publisher_id, user_key, erased_at)
    select day, id, publisher_id, user_key, now() from sessions where id = $1`,
    [sessionId],
  );
  await exportAll(t, folder.storage);
  const compaction = await compactDataFiles(folder.storage, compactAll);
  expect(compaction).toMatchObject({ erased: 2 });
  expect(compaction.before).toBeGreaterThan(compaction.after);
  const rows = await duckdb(
    `select session_id, user_key from read_parquet('${folder.path}/sessions/*/*/*.parquet')
    where user_key is null and session_id = '${sessionId}'`,
  );
  expect(rows).toHaveLength(1);
  expect(await verifyAll(t, folder.storage)).toEqual([]);
  expect(await compactDataFiles(folder.storage, compactAll)).toMatchObject({ partitions: 0, removed: 0 });
});

test('a compaction of a large partition stores each file before it reads on, and leaves full files alone', async () => {
  for (let run = 0; run < 5; run += 1) {
    await t.pool.query(
      `insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at)
      select current_date, gen_random_uuid(), 1, 'impression', 77, 1, 1, now() from generate_series(1, 1000)`,
    );
    await exportAll(t, folder.storage);
  }
  const calls: string[] = [];
  const logged =
    <Rest extends unknown[], Result>(kind: string, work: (name: string, ...rest: Rest) => Result) =>
    (name: string, ...rest: Rest): Result => {
      if (name.includes('publisher=77/')) calls.push(kind);
      return work(name, ...rest);
    };
  const { get, put } = folder.storage;
  const storage = { ...folder.storage, get: logged('get', get), put: logged('put', put) };
  const options = { ...compactAll, limits: { ...defaultLimits, groupRows: 100, fileBytes: 100_000 } };
  await compactDataFiles(storage, options);
  expect(calls.indexOf('put')).toBeLessThan(calls.lastIndexOf('get'));
  expect(await verifyAll(t, folder.storage)).toEqual([]);
  expect(await compactDataFiles(folder.storage, options)).toMatchObject({ partitions: 0 });
});

test('an export stops after a restore, and starts again with all rows in an empty folder', async () => {
  await moveAhead(t.pool);
  await continueRestoredRollups(t.databaseUrl);
  await expect(exportAll(t, folder.storage)).rejects.toThrow('perkwire data restart');
  const other = await createTestFolder();
  const restart = (path: string) =>
    runCommand(['data', 'restart'], { DATABASE_URL: t.databaseUrl, DATA_FILES_URL: `file://${path}` });
  expect(await restart(folder.path)).toMatchObject({ code: 2 });
  expect(await restart(other.path)).toMatchObject({ code: 0 });
  await visit();
  await exportAll(t, other.storage);
  await rollUpAll(t);
  expect(await verifyAll(t, other.storage)).toEqual([]);
  await other.remove();
});
