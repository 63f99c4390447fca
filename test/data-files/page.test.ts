import { afterAll, beforeAll, expect, test } from 'vitest';
import { noteFailure } from '../../src/data-files/export/run.ts';
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

test('operators see the latest exports and why the last one failed, and other users do not', async () => {
  expect(await bodyIn()).toContain('waiting for the first export');
  await exportAll(t, folder.storage);
  const body = await bodyIn();
  expect(body).toContain('up to date');
  expect(body).toContain(folder.path);
  await noteFailure(t.pool, 'The bucket responded with 403 to PUT: <b>AccessDenied</b>');
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
