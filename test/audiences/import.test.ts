import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { addMembers } from '../../src/audiences/members/members.ts';
import { createUserKeys, type UserKeys } from '../../src/platform/security/user-key.ts';
import { type Caller, createManagementModules, type ManagementModules } from '../catalog/resources/support.ts';
import { timeLimit } from '../support/time-limit.ts';

let t: ManagementModules;
let me: Caller;
let userKeys: UserKeys;
beforeAll(async () => {
  t = await createManagementModules(['audiences', 'catalog-admin']);
  userKeys = createUserKeys(t.deps.config.userPepper);
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

test('imports each ID in a file once, counts invalid rows, and reports the first hundred', async () => {
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

test('members that are added while an import fills an empty list are counted once', async () => {
  const client = await t.pool.connect();
  try {
    const { rows } = await client.query<{ id: number }>(
      "select id from audiences where publisher_id = $1 and key = 'list'",
      [me.publisherId],
    );
    const id = rows[0]?.id as number;
    await client.query('begin');
    await addMembers(client, id, [userKeys.of(me.publisherId, 'u7')], null);
    const importing = imported(lines(1000, (index) => `u${index}`));
    await expect.poll(() => waitingImports(), { timeout: timeLimit(10_000) }).toBe(1);
    await client.query('commit');
    expect(await importing).toMatchObject({ state: 'done', added: 999 });
    expect(await size()).toBe(1000);
  } finally {
    client.release();
  }
});

/** Returns the number of imports that wait for another transaction. */
async function waitingImports(): Promise<number> {
  const { rows } = await t.pool.query(
    "select from pg_stat_activity where application_name = 'perkwire-import' and wait_event_type = 'Lock'",
  );
  return rows.length;
}

test('a repeated import writes only the members whose expiry changes', async () => {
  const until = new Date(t.deps.now() + 3_600_000).toISOString();
  const written = async (): Promise<string[]> => {
    const { rows } = await t.pool.query<{ version: string }>(
      `select concat(m.ctid, m.xmax) as version from audience_members m join audiences a on a.id = m.audience_id
      where a.publisher_id = $1 order by m.user_key`,
      [me.publisherId],
    );
    return rows.map(({ version }) => version);
  };
  expect(await imported('id\nu1\nu2\nu3')).toMatchObject({ added: 3 });
  const before = await written();
  expect(await imported('id,expires_at\nu1,\nu2,\nu3,\nu4,')).toMatchObject({ added: 1 });
  expect(await written()).toEqual(expect.arrayContaining(before));
  expect(await imported(`id,expires_at\nu1,\nu2,${until}\nu2,`)).toMatchObject({ added: 0, duplicates: 1 });
  expect(await imported(`id,expires_at\nu2,${until}`)).toMatchObject({ added: 0 });
  expect((await written()).filter((version) => before.includes(version))).toHaveLength(2);
  expect(await size()).toBe(4);
});

test('rejects other content types and other publishers', async () => {
  expect((await send('{}', { headers: { 'content-type': 'application/json' } })).statusCode).toBe(415);
  const other = await t.caller(await t.addPublisher());
  expect((await send('u1', { headers: { authorization: `Bearer ${other.key}` } })).statusCode).toBe(404);
  expect((await other.call('GET', '/audiences/list/imports')).status).toBe(404);
  expect(await size()).toBe(0);
});
