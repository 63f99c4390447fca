import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkLasting } from '../../src/alerts/checks.ts';
import { noteFailure } from '../../src/data-files/export/run.ts';
import { dataFileCheck } from '../../src/data-files/status.ts';
import { hourMs, minuteMs } from '../../src/platform/lib/time.ts';
import { signInAs, type TestUser } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { createTestFolder, exportAll } from './support.ts';

let t: TestApp;
let folder: Awaited<ReturnType<typeof createTestFolder>>;
let operator: TestUser;
beforeAll(async () => {
  folder = await createTestFolder();
  t = await createTestApp({ config: { dataFiles: { kind: 'folder', path: folder.path } } });
  operator = await signInAs(t, 'operator');
});
afterAll(async () => {
  await t?.close();
  await folder?.remove();
});

const path = '/dashboard/operator/data-files';
const bodyIn = async (language = 'en'): Promise<string> =>
  (await operator.get(path, { 'accept-language': language })).body.replaceAll(/\s+/g, ' ');

const storageError = (message: string): Error => Object.assign(new Error(message), { name: 'StorageError' });

test('operators see the latest exports and why the last one failed, and other users do not', async () => {
  expect(await bodyIn()).toContain('waiting for the first export');
  await exportAll(t, folder.storage);
  const body = await bodyIn();
  expect(body).toContain('up to date');
  expect(body).toContain(folder.path);
  await noteFailure(t.pool, storageError('The bucket responded with 403 to PUT: <b>AccessDenied</b>'));
  expect(await bodyIn()).toContain('PUT: &lt;b&gt;AccessDenied&lt;/b&gt;');
  expect(await bodyIn('de')).toContain('fehlgeschlagen');
  const admin = await signInAs(t, 'admin');
  expect((await admin.get(path)).statusCode).toBe(403);
});

test('without DATA_FILES_URL, the page says how to turn data files on', async () => {
  const other = await createTestApp({ databaseUrl: t.databaseUrl });
  const user = await signInAs(other, 'operator');
  expect((await user.get(path)).body).toContain('set DATA_FILES_URL');
  await other.close();
});

test('every publisher gets an alert with the storage error while exports fail, and it ends afterwards', async () => {
  const check = dataFileCheck(true);
  let nowMs = Date.now();
  const run = () => checkLasting({ pool: t.pool, now: () => nowMs }, check);
  const alerts = async () =>
    (await t.pool.query("select ended_at is not null as over from alerts where kind = 'data_files.failing'")).rows;
  await exportAll(t, folder.storage);
  await noteFailure(t.pool, storageError('The bucket responded with 507 to PUT: <b>QuotaExceeded</b>'));
  await run();
  expect(await alerts()).toEqual([]);
  nowMs += 16 * minuteMs;
  for (const _ of [1, 2]) await run();
  expect(await alerts()).toEqual([{ over: false }]);
  const analyst = await signInAs(t, 'analyst');
  const publisherPath = `/dashboard/p/${t.publisher.id}`;
  const inbox = (await analyst.get(`${publisherPath}/alerts`)).body.replaceAll(/\s+/g, ' ');
  expect(inbox).toContain('Data files cannot be written');
  expect(inbox).toContain('507 to PUT: &lt;b&gt;QuotaExceeded&lt;/b&gt;');
  expect(inbox).toContain(`href="${publisherPath}/data-files"`);
  const page = (await analyst.get(`${publisherPath}/data-files`)).body;
  expect(page).toContain('QuotaExceeded');
  expect(page).not.toContain(folder.path);
  expect(page).not.toContain('/operator/data-files');
  expect((await operator.get(`${publisherPath}/data-files`)).body).toContain('/operator/data-files');
  await exportAll(t, folder.storage);
  await run();
  expect(await alerts()).toEqual([{ over: true }]);
  nowMs += 3 * hourMs;
  await run();
  expect(await alerts()).toEqual([{ over: true }, { over: false }]);
  expect((await analyst.get(`${publisherPath}/alerts`)).body).toContain('Data files are behind');
});

test('an admin chooses plain user IDs in the settings, the audit log records it, and other roles cannot', async () => {
  const settings = `/dashboard/p/${t.publisher.id}/settings`;
  const stored = async () =>
    (await t.pool.query('select data_file_user_ids from publishers where id = $1', [t.publisher.id])).rows[0];
  const manager = await signInAs(t, 'manager');
  const admin = await signInAs(t, 'admin');
  expect((await manager.get(settings)).body).toContain('User IDs in data files');
  const fields = { name: 'Shop', offers_per_response: '3', delivery_percentage: '100', time_zone: 'UTC' };
  const form = { ...fields, currency_name: 'points', currency_multiplier: '1', data_file_user_ids: 'plain' };
  expect((await manager.post(settings, form)).statusCode).toBe(403);
  expect(await stored()).toEqual({ data_file_user_ids: 'hashed' });
  const saved = await admin.post(settings, form);
  expect(saved.statusCode, saved.body).toBe(303);
  expect(await stored()).toEqual({ data_file_user_ids: 'plain' });
  const { rows } = await t.pool.query(
    "select changes from audit_log where resource = 'publishers' order by id desc limit 1",
  );
  expect(rows[0]?.changes).toMatchObject({ data_file_user_ids: { old: 'hashed', new: 'plain' } });
});

test('the page with privacy requests says until when data files contain an erased person', async () => {
  const admin = await signInAs(t, 'admin');
  const desk = `/dashboard/p/${t.publisher.id}/settings/privacy`;
  const answer = await admin.post(`${desk}/erase`, { identifier: 'user-1', named_by: 'pub_user_id' });
  expect(answer.statusCode, answer.body).toBe(303);
  const body = (await admin.get(desk)).body.replaceAll(/\s+/g, ' ');
  expect(body).toContain('Data files contain the person until an operator runs perkwire data compact');
  expect(body).toContain('href="/docs/guides/data-files#erasure-and-compaction"');
});
