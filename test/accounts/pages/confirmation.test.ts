import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { csrfTokenOf } from '../../../src/accounts/access.ts';
import { hashPassword } from '../../../src/accounts/passwords.ts';
import { startSession } from '../../../src/accounts/sessions.ts';
import { createUser } from '../../../src/accounts/users.ts';
import { postForm } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

/** Sensitive actions in a session that a user left open. */

const password = 'seven quiet otters';
const minuteMs = 60_000;
const client = { device: 'Firefox on Linux', network: '203.0.113.0/24', country: 'DE' };

let t: TestApp;
let nowMs = Date.now();
beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
});
afterAll(() => t?.close());
beforeEach(() => {
  nowMs += 60 * minuteMs;
});

let count = 0;
async function signedIn() {
  const passwordHash = await hashPassword(password, { cost: { logN: 4, r: 8, p: 1 } });
  const email = `admin-${++count}@example.com`;
  const publisherId = t.publisher.id;
  const user = await createUser(t.pool, { email, role: 'admin', publisherId, passwordHash, nowMs });
  const token = await startSession(t.pool, { userId: user?.id ?? 0, client, previous: null, nowMs });
  const cookie = `perkwire_session=${token}`;
  const post = (path: string, fields: Record<string, string>) =>
    postForm(t, `/dashboard/p/${publisherId}${path}`, { _csrf: csrfTokenOf(token), ...fields }, { cookie });
  return { post, email };
}

const keysNamed = async (name: string): Promise<number> =>
  (await t.pool.query('select from api_keys where name = $1', [name])).rowCount ?? 0;

test('sensitive actions need no confirmation until 15 minutes after sign-in, and keep entered values', async () => {
  const { post } = await signedIn();
  nowMs += 14 * minuteMs;
  const typed = { name: 'Server "1"', permissions: 'reports' };
  expect((await post('/settings/keys', typed)).statusCode).toBe(200);
  nowMs += 2 * minuteMs;
  const response = await post('/settings/keys', { ...typed, name: 'Server "2"' });
  expect(response.statusCode).toBe(403);
  expect(response.body).toContain('name="name" value="Server &quot;2&quot;"');
  expect(await keysNamed('Server "2"')).toBe(0);
});

test('the password confirms actions for the next 15 minutes of this session only', async () => {
  const { post } = await signedIn();
  nowMs += 16 * minuteMs;
  const typed = { name: 'Kept', permissions: 'reports' };
  const wrong = await post('/settings/keys', { ...typed, _password: 'wrong' });
  expect(wrong.statusCode).toBe(401);
  expect(wrong.body).not.toContain('value="wrong"');
  expect(await keysNamed('Kept')).toBe(0);
  expect((await post('/settings/keys', { ...typed, _password: password })).statusCode).toBe(200);
  expect(await keysNamed('Kept')).toBe(1);
  expect((await post('/settings/keys', { ...typed, name: 'Next' })).statusCode).toBe(200);
  nowMs += 16 * minuteMs;
  expect((await post('/settings/keys', typed)).statusCode).toBe(403);
});

test('a code or a passkey is rejected for a user who has none', async () => {
  const { post } = await signedIn();
  nowMs += 16 * minuteMs;
  for (const proof of [{ _code: '123456' }, { response: '{}', sealed: 'x' }, { response: 'null', sealed: '' }])
    expect(
      (await post('/settings/keys', { name: 'None', permissions: 'reports', ...proof })).statusCode,
    ).toBeGreaterThan(400);
  expect(await keysNamed('None')).toBe(0);
});

test('too many wrong attempts lock the password', async () => {
  const { post } = await signedIn();
  nowMs += 16 * minuteMs;
  const guess = (text: string) => post('/settings/users', { email: 'x@example.com', role: 'admin', _password: text });
  for (let at = 0; at < 20; at++) await guess(`guess ${at}`);
  expect((await guess(password)).statusCode).toBe(401);
});

test.each([
  '/settings/keys',
  '/settings/keys/1/revoke',
  '/settings/users',
  '/settings/users/1',
  '/settings/users/1/remove',
  '/settings/users/1/link',
  '/settings/users/1/two-factor/remove',
  '/settings/webhooks/usp.selection/rotate',
  '/settings/privacy/erase',
])('%s is a sensitive action', async (path) => {
  const { post } = await signedIn();
  nowMs += 16 * minuteMs;
  const response = await post(path, {});
  expect(response.statusCode).toBe(403);
  expect(response.body).toContain('Confirm your identity');
});
