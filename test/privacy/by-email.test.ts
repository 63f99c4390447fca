import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createReaderKeys } from '../../src/messages/outbox.ts';
import { newUuid7 } from '../../src/platform/lib/uuid7.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { addPublisher } from '../perks/wallet/support.ts';
import { createTimedApp } from '../tracking/conversions/support.ts';
import { askErasure, askExport, erase, tablesWith } from './support.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const logged: string[] = [];
const logger = createLogger('debug', { write: (line: string) => void logged.push(line) });
let t: Awaited<ReturnType<typeof createTimedApp>>;
beforeAll(async () => {
  t = await createTimedApp({ logger });
  expect((await manage('POST', '/audiences', { key: 'readers', name: 'Readers' })).statusCode).toBe(201);
});
afterAll(() => t?.close());

const manage = (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, payload?: object, query = '') =>
  t.app.inject({
    method,
    url: `/manage/v1${path}?api_key=${t.publisher.key}${query}`,
    ...(payload !== undefined && { payload }),
  });
const join = async (...emails: string[]): Promise<void> => {
  const answer = await manage('PUT', '/audiences/readers/members', { sha256_emails: emails.map(sha256) });
  expect(answer.statusCode).toBe(200);
};
const size = async (): Promise<number> => (await manage('GET', '/audiences/readers')).json().data.size;
const audiencesOf = async (body: object, key?: string): Promise<string[]> =>
  (await askExport(t, body, key)).json().data.audiences.map(({ audience }: { audience: string }) => audience);

test.each([
  ['the address', { email: ' Ada@Shop.Example' }, 'email'],
  ['the hash', { email_sha256: sha256('ada@shop.example').toUpperCase() }, 'email_sha256'],
])(
  'a person known only by an e-mail hash in an audience is exported and erased by %s',
  async (_by, identifier, kind) => {
    await join('ada@shop.example', 'bea@shop.example');
    expect(await audiencesOf(identifier)).toEqual(['readers']);
    expect(await audiencesOf({ email: 'nobody@shop.example' })).toEqual([]);
    expect((await askErasure(t, {})).statusCode).toBe(400);
    const done = await erase(t, identifier);
    expect(done.data).toMatchObject({ status: 'done', named_by: kind, erased: { sessions: 0, memberships: 1 } });
    expect([await audiencesOf(identifier), await size()]).toEqual([[], 1]);
    const { rows } = await t.pool.query(
      "select changes::text from audit_log where resource in ('erasures', 'exports') order by id desc limit 5",
    );
    expect(rows.map(({ changes }) => changes).join()).toContain(`"${kind}"`);
  },
);

test('an erasure leaves neither the address nor its hash in the database or the log', async () => {
  await join('cleo@shop.example');
  await askExport(t, { email: 'cleo@shop.example' });
  await askExport(t, { email: 'cleo@shop.example, other@shop.example' });
  await erase(t, { email: 'cleo@shop.example' });
  await erase(t, { email_sha256: sha256('cleo@shop.example') });
  for (const text of ['cleo@shop.example', sha256('cleo@shop.example')]) {
    expect(await tablesWith(t, text)).toEqual([]);
    expect(logged.filter((line) => line.includes(text))).toEqual([]);
  }
});

test('messages to the address are exported and erased, and messages to others are kept', async () => {
  const readerKeys = createReaderKeys(t.deps.config);
  const mail = async (email: string): Promise<void> => {
    const [{ addressKey }] = readerKeys(t.publisher.id, { email });
    const id = newUuid7(t.clock.ms);
    await t.pool.query(
      `insert into perk_messages (id, publisher_id, session_id, user_key, state, created_at, finished_at, address_key)
      values ($1, $2, $1, gen_random_uuid(), 'sent', $3, $3, $4)`,
      [id, t.publisher.id, new Date(t.clock.ms), addressKey],
    );
  };
  await mail('ella@shop.example');
  await mail('fay@shop.example');
  t.clock.ms += 1000;
  const mails = async (email: string): Promise<number> =>
    (await askExport(t, { email })).json().data.perk_messages.length;
  expect([await mails('ella@shop.example'), await mails('fay@shop.example')]).toEqual([1, 1]);
  await erase(t, { email: 'ella@shop.example' });
  expect([await mails('ella@shop.example'), await mails('fay@shop.example')]).toEqual([0, 1]);
});

test('a domain in Unicode and in Punycode counts as the same address', async () => {
  await join('ada@bücher.example');
  expect(await audiencesOf({ email: 'ada@xn--bcher-kva.example' })).toEqual(['readers']);
});

test('another publisher finds and erases nothing by the same address', async () => {
  await join('dora@shop.example');
  const { publisher: other } = await addPublisher(t);
  expect(await audiencesOf({ email: 'dora@shop.example' }, other.key)).toEqual([]);
  await askErasure(t, { email: 'dora@shop.example' }, other.key);
  await erase(t, { email: 'nobody@shop.example' });
  expect(await audiencesOf({ email: 'dora@shop.example' })).toEqual(['readers']);
});

test('invalid and multiple identifiers are rejected without being quoted', async () => {
  const details = async (body: object) => {
    const answer = await askExport(t, body);
    expect(answer.body).not.toContain('dora');
    return answer.json().error?.details;
  };
  const oneAddress = [{ path: '/email', message: 'The value must be a single e-mail address.' }];
  expect(await details({ email: 'dora' })).toEqual(oneAddress);
  expect(await details({ email: 'dora@b.example, c@d.example' })).toEqual(oneAddress);
  expect(await details({ email_sha256: 'dora' })).toEqual([
    { path: '/email_sha256', message: 'The value must be a SHA-256 hash of 64 hexadecimal digits.' },
  ]);
  const oneIdentifier = [
    { path: '/', message: 'Identify the user by exactly one of: pub_user_id, ad_fp, email, email_sha256.' },
  ];
  expect(await details({})).toEqual(oneIdentifier);
  expect(await details({ email: 'dora@shop.example', pub_user_id: 'u1' })).toEqual(oneIdentifier);
});

test.each([
  ['DELETE', '/users/zanzibar-7', undefined, 403],
  ['GET', '/users/zanzibar-7', undefined, 404],
  ['PUT', '/users/zanzibar-7', { attributes: 'none' }, 400],
  ['PUT', '/users/zanzibar-7%40shop.example', { attributes: {} }, 400],
  ['PATCH', '/users/zanzibar-7', {}, 405],
  ['POST', '/users/zanzibar-7/attributes', {}, 404],
  ['GET', '/users/zanzibar-7%00', undefined, 400],
] as const)('the user of a rejected %s %s is not logged', async (method, path, payload, status) => {
  const key = status === 403 ? t.publisher.sdkId : t.publisher.key;
  logged.length = 0;
  const answer = await t.app.inject({
    method,
    url: `/manage/v1${path}`,
    headers: { authorization: `Bearer ${key}` },
    ...(payload !== undefined && { payload }),
  });
  expect(answer.statusCode).toBe(status);
  expect(logged.length).toBeGreaterThan(0);
  expect(logged.filter((line) => line.includes('zanzibar'))).toEqual([]);
});
