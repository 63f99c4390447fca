import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Caller, createManagementModules, type ManagementModules } from '../catalog/resources/support.ts';

let t: ManagementModules;
let me: Caller;
beforeAll(async () => {
  t = await createManagementModules(['audiences', 'catalog-admin']);
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await t.caller(await t.addPublisher());
  await me.call('POST', '/audiences', { key: 'list', name: 'List' });
});

type Imported = { state: string; rows: number; bad: number; added: number; errors: { line: number }[] };

const send = (payload: string | Buffer, { path = 'import', headers = {} } = {}) =>
  t.app.inject({
    method: 'POST',
    url: `/manage/v1/audiences/list/${path}`,
    headers: { authorization: `Bearer ${me.key}`, 'content-type': 'text/csv', ...headers },
    payload,
  });
const imported = async (...parameters: Parameters<typeof send>): Promise<Imported> => {
  const answer = await send(...parameters);
  expect([answer.statusCode, answer.body]).toEqual([200, expect.anything()]);
  return answer.json().data;
};
const size = async () => (await me.call('GET', '/audiences/list')).body.data.size;
const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => line(i)).join('\n');

test('imports each id in a file once, counts invalid rows, and reports the first hundred', async () => {
  const bad = lines(150, (index) => `user${index}@mail.example`);
  const file = `﻿pub_user_id;note\r\n${lines(30_000, (index) => `"u${index % 20_000}";x`)}\r\n\r\n${bad}\n`;
  const done = await imported(file);
  expect(done).toMatchObject({ state: 'done', rows: 30_150, bad: 150, added: 20_000 });
  expect(done.errors).toHaveLength(100);
  expect(done.errors[0]?.line).toBe(30_003);
  expect(await size()).toBe(20_000);
  expect((await me.call('DELETE', '/audiences/list/members', { ids: ['u19999', 'u0'] })).body.data.removed).toBe(2);
  expect(await imported(gzipSync('u0\nu19999\nu7'), { headers: { 'content-encoding': 'gzip' } })).toMatchObject({
    rows: 3,
    added: 2,
  });
  const { body } = await me.call('GET', '/audiences/list/imports');
  expect((body.data as unknown as Imported[]).map(({ state, added }) => [state, added])).toEqual([
    ['done', 2],
    ['done', 20_000],
  ]);
});

test('imports hashes with expiry dates as members, and matches users by hash', async () => {
  const hash = createHash('sha256').update('me@mail.example').digest('hex');
  const until = new Date(t.deps.now() + 3_600_000).toISOString();
  const file = `expires_at,email_sha256\n${until},${hash}\n,${hash.slice(1)}\nyesterday,${hash}`;
  expect((await send(file, { path: 'members/import' })).statusCode).toBe(400);
  const partly = { path: 'members/import?partial=true' };
  expect(await imported(file, partly)).toMatchObject({ rows: 3, bad: 2, added: 1 });
  expect((await me.call('DELETE', '/audiences/list/members', { sha256_emails: [hash] })).body.data.removed).toBe(1);
});

test('adds nobody from an unreadable or truncated file, which can be sent again', async () => {
  const refused = await send(lines(5000, (index) => `x${index}@mail.example`));
  expect([refused.statusCode, refused.json().error.message, refused.json().error.details.length]).toEqual([
    ...[400, 'The file has no valid rows (5,000 rows were checked).', 100],
  ]);
  const url = await t.app.listen({ port: 0, host: '127.0.0.1' });
  const headers = { authorization: `Bearer ${me.key}`, 'content-type': 'text/csv', 'transfer-encoding': 'chunked' };
  const broken = request(`${url}/manage/v1/audiences/list/import`, { method: 'POST', headers }).on('error', () => {});
  await new Promise((resolve) =>
    broken.write(
      lines(1000, (index) => `u${index}`),
      resolve,
    ),
  );
  broken.destroy();
  expect(await size()).toBe(0);
  expect(await imported(lines(1000, (index) => `u${index}`))).toMatchObject({ added: 1000 });
});

test('rejects other content types and other publishers', async () => {
  expect((await send('{}', { headers: { 'content-type': 'application/json' } })).statusCode).toBe(415);
  const other = await t.caller(await t.addPublisher());
  expect((await send('u1', { headers: { authorization: `Bearer ${other.key}` } })).statusCode).toBe(404);
  expect((await other.call('GET', '/audiences/list/imports')).status).toBe(404);
  expect(await size()).toBe(0);
});
