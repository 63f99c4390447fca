import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashPassword } from '../../../src/accounts/passwords.ts';
import { createUser } from '../../../src/accounts/users.ts';
import { cookieFrom, csrfIn, postForm, signInAs } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

const password = 'seven quiet otters';
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const safari =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 ' +
  'Mobile/15E148 Safari/604.1';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ config: { trustProxy: true } });
});
afterAll(() => t?.close());

async function account(email: string): Promise<void> {
  const passwordHash = await hashPassword(password, { cost: { logN: 4, r: 8, p: 1 } });
  await createUser(t.pool, { email, role: 'analyst', publisherId: t.publisher.id, passwordHash, nowMs: t.deps.now() });
}

/** Signs in with a given browser and returns its cookie. */
async function signIn(email: string, userAgent: string, address: string): Promise<string> {
  const headers = { 'user-agent': userAgent, 'x-forwarded-for': address };
  return cookieFrom(await postForm(t, '/dashboard/sign-in', { email, password }, headers), 'perkwire_session') ?? '';
}

const open = (cookie: string) => t.app.inject({ url: '/dashboard/account', headers: { cookie } });

/** Returns the ID of the listed session whose row starts with this device. */
const endOf = (body: string, device: string): string =>
  new RegExp(`<strong>${device}</strong>[\\s\\S]*?action="([^"]+/end)"`).exec(body)?.[1] ?? '';

test('lists sessions by device and network, without IP addresses', async () => {
  await account('list@example.com');
  const here = await signIn('list@example.com', firefox, '203.0.113.77');
  await signIn('list@example.com', safari, '2001:db8:77:88::99');
  await signInAs(t, 'admin');
  const { body } = await open(here);
  expect([...body.matchAll(/<strong>([^<]+ on [^<]+)<\/strong>/g)].map(([, device]) => device).sort()).toEqual([
    'Firefox on Linux',
    'Safari on iOS',
  ]);
  expect(body).toContain('203.0.113.0/24');
  expect(body).toContain('2001:db8:77::/48');
  expect(body).not.toMatch(/113\.77|88::99/);
  expect(body.match(/This session/g)).toHaveLength(1);
});

test('lets a user end their other sessions, but not the sessions of other users', async () => {
  await account('one@example.com');
  const here = await signIn('one@example.com', firefox, '198.51.100.7');
  const there = await signIn('one@example.com', safari, '198.51.100.8');
  const { body } = await open(here);
  const other = await signInAs(t, 'operator');
  expect((await other.post(endOf(body, 'Safari on iOS'))).statusCode).toBe(404);
  expect((await open(there)).statusCode).toBe(200);

  const ended = await postForm(t, endOf(body, 'Safari on iOS'), { _csrf: csrfIn(body) }, { cookie: here });
  expect(ended.headers.location).toBe('/dashboard/account');
  expect([(await open(here)).statusCode, (await open(there)).statusCode]).toEqual([200, 303]);

  const own = await postForm(t, endOf(body, 'Firefox on Linux'), { _csrf: csrfIn(body) }, { cookie: here });
  expect(own.headers.location).toBe('/dashboard/sign-in');
  expect((await open(here)).statusCode).toBe(303);
});

test("ends all of the user's sessions when signing out everywhere, and logs it", async () => {
  await account('all@example.com');
  const cookies = [
    await signIn('all@example.com', firefox, '198.51.100.7'),
    await signIn('all@example.com', safari, '198.51.100.8'),
  ];
  const otherUser = await signInAs(t, 'admin');
  const { body } = await open(cookies[0] ?? '');
  const path = '/dashboard/account/sessions/all/end';
  await postForm(t, path, { _csrf: csrfIn(body) }, { cookie: cookies[0] ?? '' });
  expect((await Promise.all(cookies.map(open))).map(({ statusCode }) => statusCode)).toEqual([303, 303]);
  expect((await otherUser.get('/dashboard/account')).statusCode).toBe(200);
  const { rows } = await t.pool.query(
    "select changes->'sessions' as sessions from audit_log where resource_id = 'all@example.com' and action = 'update'",
  );
  expect(rows).toEqual([{ sessions: { old: '2 sessions', new: 'signed out everywhere' } }]);
});
