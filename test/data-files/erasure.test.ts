import { afterAll, beforeAll, expect, test } from 'vitest';
import { compactDataFiles } from '../../src/data-files/compact.ts';
import { findWithdrawnPublishers } from '../../src/data-files/export/run.ts';
import { type DataTable, dataTables } from '../../src/data-files/tables.ts';
import { dayMs, dayOf } from '../../src/platform/lib/time.ts';
import { erase } from '../privacy/support.ts';
import { createTimedApp } from '../tracking/conversions/support.ts';
import { showOffer } from '../tracking/journey.ts';
import { compactAll, createTestFolder, duckdb, exportAll, verifyAll } from './support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
let folder: Awaited<ReturnType<typeof createTestFolder>>;
beforeAll(async () => {
  [t, folder] = await Promise.all([createTimedApp(), createTestFolder()]);
});
afterAll(async () => {
  await t?.close();
  await folder?.remove();
});

const read = (table: string): string => `read_parquet('${folder.path}/${table}/*/*/*.parquet')`;

const user = { pub_user_id: 'erase-me', ad_fp: 'device', plan: 'plus-of-erased' };

/** Returns the columns of a session in the files. */
const filed = async (sessionId: string): Promise<Record<string, unknown> | undefined> =>
  (await duckdb(`select * from ${read('sessions')} where session_id = '${sessionId}'`))[0];

/** Drops a session from the database, as the retention does with old partitions. */
const drop = (sessionId: string) => t.pool.query('delete from sessions where id = $1', [sessionId]);

test('a compaction clears the columns of a session that its erasure clears in the database', async () => {
  const { sessionId } = await showOffer(t, {
    pub_user_id: 'compared',
    ad_fp: 'compared-device',
    plan: 'gold',
    language: 'de',
  });
  await exportAll(t, folder.storage);
  expect(await filed(sessionId)).toMatchObject({ language: expect.any(String) });
  t.clock.ms += 1000;
  await erase(t, { pub_user_id: 'compared' });
  await exportAll(t, folder.storage);
  await compactDataFiles(folder.storage, compactAll);
  const { columns, from } = dataTables[0] as DataTable;
  const selected = Object.entries(columns).map(([name, [, sql]]) => `(${sql}) is null as ${name}`);
  const { rows } = await t.pool.query(`select ${selected.join(', ')} ${from} where t.id = $1`, [sessionId]);
  const isNull = Object.entries((await filed(sessionId)) ?? {}).map(([name, value]) => [name, value === null]);
  expect(Object.fromEntries(isNull)).toMatchObject(rows[0]);
});

test('a tombstone keeps its user until all partitions of the user are compacted', async () => {
  await showOffer(t, { pub_user_id: 'patient' });
  await exportAll(t, folder.storage);
  t.clock.ms += dayMs;
  await erase(t, { pub_user_id: 'patient' });
  await exportAll(t, folder.storage);
  const users = `select count(user_key) as users from ${read('erasures')}`;
  const [before] = await duckdb(users);
  expect(before).not.toEqual({ users: '0' });
  await compactDataFiles(folder.storage, { ...compactAll, before: dayOf(t.clock.ms) });
  expect(await duckdb(users)).toEqual([before]);
  await compactDataFiles(folder.storage, compactAll);
  expect(await duckdb(users)).toEqual([{ users: '0' }]);
  const stored = 'select count(user_key)::int as users from data_file_erasures';
  expect((await t.pool.query(stored)).rows).not.toEqual([{ users: 0 }]);
  const { retention } = t.contributions.modules.find(({ name }) => name === 'data-files') ?? {};
  await retention?.(t.pool, t.deps.config, t.clock.ms);
  expect((await t.pool.query(stored)).rows).toEqual([{ users: 0 }]);
  expect(await verifyAll(t, folder.storage)).toEqual([]);
});

test('an erased user is removed from all data files, and nothing there leads back to the user', async () => {
  const old = await showOffer(t, { pub_user_id: 'erase-me', plan: 'old-plan' });
  const oldDevice = await showOffer(t, { ...user, plan: 'old-device' });
  const { sessionId } = await showOffer(t, user);
  const other = await showOffer(t, { pub_user_id: 'somebody-else', plan: 'plus' });
  await exportAll(t, folder.storage);
  const before = await filed(sessionId);
  for (const session of [old, oldDevice]) await drop(session.sessionId);
  t.clock.ms += 1000;
  await erase(t, { pub_user_id: 'erase-me' });
  const later = await showOffer(t, user);
  await exportAll(t, folder.storage);
  const tombstones = `select session_id, user_key from ${read('erasures')} where user_key is not null`;
  const userKey = (await filed(old.sessionId))?.user_key;
  expect(new Set(await duckdb(tombstones))).toEqual(
    new Set([
      { session_id: sessionId, user_key: before?.user_key },
      { session_id: null, user_key: userKey },
    ]),
  );
  await compactDataFiles(folder.storage, compactAll);
  for (const session of [old.sessionId, oldDevice.sessionId, sessionId])
    expect(await filed(session)).toMatchObject({ user_key: null, user_id: null, attributes: null, language: null });
  for (const session of [other.sessionId, later.sessionId])
    expect(await filed(session)).toMatchObject({ user_key: expect.any(String), attributes: expect.any(String) });
  expect(await duckdb(tombstones)).toEqual([]);
});

const choose = (userIds: string) =>
  t.pool.query('update publishers set data_file_user_ids = $2 where id = $1', [t.publisher.id, userIds]);
const withdrawn = async () => findWithdrawnPublishers(t.pool);
const idOf = async (sessionId: string) => (await filed(sessionId))?.user_id;
const show = async (pubUserId: string, fingerprint?: string): Promise<string> =>
  (await showOffer(t, { pub_user_id: pubUserId, ...(fingerprint && { ad_fp: fingerprint }) })).sessionId;

test('plain user IDs are exported only while their publisher chooses them, and are erased at any age', async () => {
  const hashed = await show('before');
  await exportAll(t, folder.storage);
  await choose('plain');
  const [old, other] = [await show('plain-user', 'plain-device'), await show('other-user', 'other-device')];
  const anonymous = (await showOffer(t, { ad_fp: 'anonymous-device' })).sessionId;
  await exportAll(t, folder.storage);
  expect(await Promise.all([hashed, old, other, anonymous].map(idOf))).toEqual([
    null,
    'plain-user',
    'other-user',
    null,
  ]);
  // The database no longer has the session, and the hash of the user ID differs from the fingerprint hash in the file.
  await drop(old);
  t.clock.ms += 1000;
  await erase(t, { pub_user_id: 'plain-user' });
  const later = await show('plain-user', 'plain-device');
  await exportAll(t, folder.storage);
  await compactDataFiles(folder.storage, compactAll);
  expect(await filed(old)).toMatchObject({ user_key: null, user_id: null, attributes: null, language: null });
  expect(await Promise.all([other, later].map(idOf))).toEqual(['other-user', 'plain-user']);
  const remaining = `select count(*)::int as ids from ${read('erasures').replace(')', ', union_by_name = true)')}`;
  expect(await duckdb(`${remaining} where user_id is not null`)).toEqual([{ ids: 0 }]);
  const { retention } = t.contributions.modules.find(({ name }) => name === 'data-files') ?? {};
  await retention?.(t.pool, t.deps.config, t.clock.ms);
  expect((await t.pool.query('select 1 from data_file_erasures where user_id is not null')).rows).toEqual([]);

  await choose('hashed');
  const after = await show('third-user', 'third-device');
  await exportAll(t, folder.storage);
  expect(await idOf(after)).toBeNull();
  expect(await withdrawn()).toEqual(new Set([t.publisher.id]));
  await compactDataFiles(folder.storage, { ...compactAll, withdrawnPublishers: await withdrawn() });
  expect(await Promise.all([other, later].map(idOf))).toEqual([null, null]);
  expect((await filed(other))?.user_key).toEqual(expect.any(String));
});
