import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { hashPassword } from '../../../src/accounts/passwords.ts';
import { maxMailsPerHour } from '../../../src/accounts/sign-in/mail-limit.ts';
import { linkPath } from '../../../src/accounts/sign-in/one-time-links.ts';
import { createUser, parseEmail } from '../../../src/accounts/users.ts';
import { cookieFrom, origin, postForm, signInAs } from '../../dashboard/support.ts';
import { type MailServer, startMailServer } from '../../support/mail-server.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

const password = 'seven quiet otters';
const newPasswordFields = { password: 'four tall cranes', again: 'four tall cranes' };

let nowMs = Date.now();
let server: MailServer;
let t: TestApp;
beforeAll(async () => {
  server = await startMailServer();
  const { mail } = server;
  t = await createTestApp({ now: () => nowMs, config: { mail } });
});
afterAll(async () => {
  await t?.close();
  await server?.close();
});
beforeEach(() => {
  server.mails.length = 0;
});

async function account(email: string, more: { disabled?: boolean } = {}): Promise<number> {
  const passwordHash = await hashPassword(password, { cost: { logN: 4, r: 8, p: 1 } });
  const user = await createUser(t.pool, { email, role: 'manager', publisherId: t.publisher.id, passwordHash, nowMs });
  await t.pool.query('update users set disabled = $2 where id = $1', [user?.id, more.disabled ?? false]);
  return user?.id ?? 0;
}

async function publisher(name: string): Promise<number> {
  const { rows } = await t.pool.query(
    "insert into publishers (name, sdk_id) values ($1, '00000000000000aa') returning id",
    [name],
  );
  await t.deps.catalog.refresh();
  return rows[0].id;
}

const forgot = (email: string, headers: Record<string, string> = {}) =>
  postForm(t, '/dashboard/sign-in/forgot', { email }, headers);

const mailTo = (email: string) => server.mails.find(({ to }) => to.includes(email));
const arrives = (email: string) => expect.poll(() => mailTo(email)?.text).toBeDefined();
const linkIn = (text = ''): string => new RegExp(`${linkPath}[\\w-]{43}`).exec(text)?.[0] ?? '';

test('resets a forgotten password with an e-mailed link, once and within an hour, and ends all sessions', async () => {
  await account('ada@example.com');
  const before = await postForm(t, '/dashboard/sign-in', { email: 'ada@example.com', password });
  const session = cookieFrom(before, 'perkwire_session') ?? '';
  expect((await t.app.inject('/dashboard/sign-in')).body).toContain('href="/dashboard/sign-in/forgot"');
  expect((await forgot('Ada@Example.com')).statusCode).toBe(200);
  await arrives('ada@example.com');
  const link = linkIn(mailTo('ada@example.com')?.text);
  expect((await postForm(t, link, newPasswordFields)).headers.location).toBe('/dashboard');
  expect((await postForm(t, link, newPasswordFields)).statusCode).toBe(400);
  expect((await t.app.inject({ url: '/dashboard/account', headers: { cookie: session } })).statusCode).toBe(303);
  const again = await postForm(t, '/dashboard/sign-in', {
    email: 'ada@example.com',
    password: newPasswordFields.password,
  });
  expect(again.statusCode).toBe(303);

  server.mails.length = 0;
  await forgot('ada@example.com');
  await arrives('ada@example.com');
  nowMs += 61 * 60_000;
  expect((await t.app.inject(linkIn(mailTo('ada@example.com')?.text))).statusCode).toBe(400);
});

test('links to PUBLIC_URL regardless of the Host header, and does not store the token', async () => {
  await account('host@example.com');
  await forgot('host@example.com', { host: 'evil.example', 'x-forwarded-host': 'evil.example', origin });
  await arrives('host@example.com');
  const mail = mailTo('host@example.com');
  expect(mail?.from).toBe('perkwire@example.com');
  expect(mail?.text).toContain(`${origin}${linkPath}`);
  expect(`${mail?.head}${mail?.text}`).not.toContain('evil.example');
  const token = linkIn(mail?.text).slice(linkPath.length);
  const { rows } = await t.pool.query('select l::text as row from user_links l');
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.filter(({ row }) => row.includes(token))).toEqual([]);
});

test('responds the same for existing, unknown and disabled accounts, even at the rate limit', async () => {
  await account('known@example.com');
  await account('gone@example.com', { disabled: true });
  await t.pool.query('delete from sign_in_failures');
  const addresses = ['known@example.com', 'gone@example.com', 'unknown@example.com'];
  const bodies = new Set<string>();
  for (let count = 0; count < 3; count += 1)
    for (const email of addresses) {
      const { statusCode, body } = await forgot(email);
      bodies.add(`${statusCode} ${body}`);
    }
  expect(bodies.size).toBe(1);
  const refused = await Promise.all(addresses.map((email) => forgot(email)));
  expect(refused.map(({ statusCode }) => statusCode)).toEqual([429, 429, 429]);
  await expect.poll(() => server.mails.length).toBe(3);
  expect(new Set(server.mails.flatMap(({ to }) => to))).toEqual(new Set(['known@example.com']));
  const { rows } = await t.pool.query(
    `select actor_kind, actor_label, changes->'password_link'->>'new' as link from audit_log
    where resource_id = any($1) and action = 'update'`,
    [addresses],
  );
  expect(rows).toEqual(Array(3).fill({ actor_kind: 'system', actor_label: 'password reset', link: 'mailed' }));
  expect((await forgot('a@example.com,b@example.com')).statusCode).toBe(422);
  expect((await forgot('a@example.com\r\nbcc: b@example.com')).statusCode).toBe(422);
  expect((await forgot('known@example.com', { origin: 'https://evil.example' })).statusCode).toBe(403);
});

test('sends an invitation link by e-mail without showing it, and shows it if the e-mail is rejected', async () => {
  const admin = await signInAs(t, 'admin');
  const users = `/dashboard/p/${t.publisher.id}/settings/users`;
  const invited = await admin.post(users, { email: 'new@example.com', role: 'analyst' });
  expect(invited.body).toContain('sent to new@example.com');
  expect(linkIn(invited.body)).toBe('');
  const answer = await postForm(t, linkIn(mailTo('new@example.com')?.text), newPasswordFields);
  expect(answer.headers.location).toBe('/dashboard');

  server.refuse(true);
  const failed = await admin.post(users, { email: 'full@example.com', role: 'analyst' });
  server.refuse(false);
  expect(failed.body).toContain('could not be sent');
  expect((await t.app.inject(linkIn(failed.body))).statusCode).toBe(200);
});

test('429: limits the admins of a publisher to 30 e-mails per hour in total', async () => {
  const publisherId = await publisher('Loud');
  const admin = await signInAs(t, 'admin', publisherId);
  const users = `/dashboard/p/${publisherId}/settings/users`;
  const invite = (number: number) => admin.post(users, { email: `guest-${number}@example.com`, role: 'analyst' });
  for (let number = 0; number < maxMailsPerHour; number++) expect((await invite(number)).statusCode).toBe(200);
  const { rows } = await t.pool.query("select id from users where email = 'guest-0@example.com'");
  const refused = [await invite(99), await admin.post(`${users}/${rows[0].id}/link`)];
  expect(refused.map(({ statusCode }) => statusCode)).toEqual([429, 429]);
  expect(refused[0]?.body).toContain('the limit of 30 invitations and links per hour');
  expect(server.mails).toHaveLength(maxMailsPerHour);
  const others = `/dashboard/p/${t.publisher.id}/settings/users`;
  const other = await (await signInAs(t, 'admin')).post(others, { email: 'calm@example.com', role: 'analyst' });
  expect(other.statusCode).toBe(200);
  nowMs += 60 * 60_000;
  expect((await (await signInAs(t, 'admin', publisherId)).post(users, { email: 'late@example.com' })).statusCode).toBe(
    200,
  );
});

test.each([
  '<v@evil.test>',
  'v@evil.test>',
  'Victim <v@evil.test>',
  '"v"@evil.test',
  'v@evil.test,w@evil.test',
  'v@evil.test;w',
  'v(comment)@evil.test',
  'v@[127.0.0.1]',
  'v\\@evil.test',
  'v@evil.test\u200b',
  '.v@evil.test',
  'v..w@evil.test',
  'v@evil..test',
  'v@.test',
  'v@@evil.test',
  'v@evil.test/path',
])('rejects %j as an e-mail address', (text) => {
  expect(parseEmail(text)).toBeNull();
});

test.each(["o'hara+perks@shop.example", 'JÜRGEN@müller.example', 'root@localhost', 'a.b-c_d@x.co.uk'])(
  'accepts %j as an e-mail address',
  (text) => {
    expect(parseEmail(text)).toBe(text.toLowerCase());
  },
);
