import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashPassword } from '../../src/accounts/passwords.ts';
import { sessionIdleTimeoutMs, sessionLifetimeMs } from '../../src/accounts/sessions.ts';
import { createLockout, lockoutWindowMs, maxFailures } from '../../src/accounts/sign-in/lockout.ts';
import {
  createFirstOperatorLink,
  createInvitation,
  createPasswordReset,
  linkPath,
} from '../../src/accounts/sign-in/one-time-links.ts';
import { createUser } from '../../src/accounts/users.ts';
import { cookieFrom, csrfIn, origin, postForm, signInAs } from '../dashboard/support.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

const password = 'seven quiet otters';
let nowMs = Date.now();
let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
  await account('ada@example.com');
});
afterAll(() => t.close());

async function account(email: string): Promise<number> {
  const user = await createUser(t.pool, {
    email,
    role: 'admin',
    publisherId: t.publisher.id,
    // Use a cheap hash, so that slow machines don't spend their time on scrypt.
    passwordHash: await hashPassword(password, { cost: { logN: 4, r: 8, p: 1 } }),
    nowMs,
  });
  return user?.id ?? 0;
}

const signIn = (email: string, enteredPassword = password, headers: Record<string, string> = {}) =>
  postForm(t, '/dashboard/sign-in', { email, password: enteredPassword }, headers);

const from = (address: string, email: string, tried = 'wrong password') =>
  t.app.inject({
    method: 'POST',
    url: '/dashboard/sign-in',
    remoteAddress: address,
    headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ email, password: tried }).toString(),
  });

/** Records a failed sign-in without checking a password, which takes 250 ms for an unknown account. */
const recordFailure = (address: string, email: string) =>
  createLockout(t.deps.config.userPepper).recordAttempt(t.pool, email, address, nowMs);

describe('signing in', () => {
  test('sets a session cookie that scripts cannot read and other sites cannot send', async () => {
    const answer = await signIn('Ada@Example.com');
    expect(answer.statusCode).toBe(303);
    const cookie = answer.cookies[0];
    expect(cookie).toMatchObject({ name: 'perkwire_session', httpOnly: true, sameSite: 'Lax', path: '/' });
    const page = await t.app.inject({
      url: '/dashboard/account',
      headers: { cookie: cookieFrom(answer, 'perkwire_session') ?? '' },
    });
    expect(page.statusCode).toBe(200);
    expect(page.body).toContain('ada@example.com');
  });

  test("starts a new session and ends the browser's previous one", async () => {
    const first = cookieFrom(await signIn('ada@example.com'), 'perkwire_session') ?? '';
    const second = cookieFrom(await signIn('ada@example.com', password, { cookie: first }), 'perkwire_session') ?? '';
    expect(second).not.toBe(first);
    expect((await t.app.inject({ url: '/dashboard/account', headers: { cookie: first } })).statusCode).toBe(303);
  });

  test('gives the same response for a wrong password and an unknown, disabled or invited account', async () => {
    await t.pool.query('update users set disabled = true where id = $1', [await account('gone@example.com')]);
    await createUser(t.pool, {
      email: 'new@example.com',
      role: 'analyst',
      publisherId: t.publisher.id,
      passwordHash: null,
      nowMs,
    });
    const answers = [
      await signIn('ada@example.com', 'wrong password'),
      await signIn('nobody@example.com'),
      await signIn('gone@example.com'),
      await signIn('new@example.com'),
    ];
    const words = answers.map(({ body }) => /role="alert"><p>([^<]*)/.exec(body)?.[1]);
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([401, 401, 401, 401]);
    expect(new Set(words).size).toBe(1);
    expect(words[0]).toBe('Wrong e-mail address or password.');
  });

  test('429: rejects the sixth attempt in 15 minutes, even with the right password or an unknown account', async () => {
    await account('eve@example.com');
    for (const email of ['eve@example.com', 'ghost@example.com']) {
      const attempts = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(() => signIn(email, 'wrong password')));
      expect(attempts.map(({ statusCode }) => statusCode).filter((status) => status === 401)).toHaveLength(5);
      const refused = await signIn(email);
      expect(refused.statusCode).toBe(429);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    }
    nowMs += lockoutWindowMs + 60_000;
    expect((await signIn('eve@example.com')).statusCode).toBe(303);
  });

  test('locks only the client address after 30 failures for many accounts', async () => {
    await t.pool.query('delete from sign_in_failures');
    for (let count = 0; count < maxFailures.address - 1; count++)
      await recordFailure('203.0.113.9', `a${count % 10}@example.com`);
    expect((await from('203.0.113.9', 'a11@example.com')).statusCode).toBe(401);
    expect((await from('203.0.113.9', 'a12@example.com')).statusCode).toBe(429);
    expect((await from('198.51.100.7', 'a13@example.com')).statusCode).toBe(401);
    await t.pool.query('delete from sign_in_failures');
  });

  test('locks an account for one client address, and for all only after 100 failures from many addresses', async () => {
    await t.pool.query('delete from sign_in_failures');
    await account('iris@example.com');
    for (let count = 0; count < maxFailures.pair + 1; count++) await from('203.0.113.9', 'iris@example.com');
    expect((await from('203.0.113.9', 'iris@example.com', password)).statusCode).toBe(429);
    expect((await from('198.51.100.7', 'iris@example.com', password)).statusCode).toBe(303);
    for (let count = 0; count < maxFailures.account; count++)
      await recordFailure(`203.0.113.${100 + (count >> 2)}`, 'iris@example.com');
    expect((await from('198.51.100.7', 'iris@example.com', password)).statusCode).toBe(429);
    await t.pool.query('delete from sign_in_failures');
  });

  test('leads to the requested page and never to another site', async () => {
    const redirect = await t.app.inject('/dashboard/account?x=1');
    expect(redirect.headers.location).toBe('/dashboard/sign-in?next=%2Fdashboard%2Faccount%3Fx%3D1');
    const to = async (next: string) =>
      (await postForm(t, '/dashboard/sign-in', { email: 'ada@example.com', password, next })).headers.location;
    expect(await to('/dashboard/account?x=1')).toBe('/dashboard/account?x=1');
    for (const next of [
      '//evil.example',
      'https://evil.example/',
      '/\\evil.example',
      '/dashboard/../../evil',
      '/dashboard/\t//evil',
    ])
      expect(await to(next), next).toMatch(/^\/dashboard/);
  });

  test('rejects a form that comes from another site', async () => {
    expect((await signIn('ada@example.com', password, { origin: 'https://evil.example' })).statusCode).toBe(403);
    expect((await signIn('ada@example.com', password, { origin: 'null' })).statusCode).toBe(403);
    expect((await signIn('ada@example.com', password, { 'sec-fetch-site': 'cross-site' })).statusCode).toBe(403);
  });
});

describe('a dashboard session', () => {
  test('ends on sign-out, after a day without requests, and seven days after sign-in', async () => {
    const formerUser = await signInAs(t, 'analyst');
    expect((await formerUser.post('/dashboard/sign-out')).headers.location).toBe('/dashboard/sign-in');
    expect((await formerUser.get('/dashboard/account')).statusCode).toBe(303);

    const idle = await signInAs(t, 'analyst');
    nowMs += sessionIdleTimeoutMs + 3_600_000;
    expect((await idle.get('/dashboard/account')).statusCode).toBe(303);

    const busy = await signInAs(t, 'analyst');
    for (let elapsedMs = 0; elapsedMs < sessionLifetimeMs; elapsedMs += 12 * 3_600_000) {
      expect((await busy.get('/dashboard/account')).statusCode).toBe(200);
      nowMs += 12 * 3_600_000;
    }
    expect((await busy.get('/dashboard/account')).statusCode).toBe(303);
  });

  test('ends when its user is disabled', async () => {
    const person = await signInAs(t, 'analyst');
    await t.pool.query('update users set disabled = true where id = $1', [person.userId]);
    expect((await person.get('/dashboard/account')).statusCode).toBe(303);
  });

  test('ends when the password is changed in another session, which requires the current password', async () => {
    await account('kim@example.com');
    const [here = '', there = ''] = await Promise.all(
      [1, 2].map(async () => cookieFrom(await signIn('kim@example.com'), 'perkwire_session') ?? ''),
    );
    const page = await t.app.inject({ url: '/dashboard/account', headers: { cookie: here } });
    const csrf = csrfIn(page.body);
    const change = (current: string) =>
      postForm(
        t,
        '/dashboard/account/password',
        { _csrf: csrf, current, password: 'nine loud herons', again: 'nine loud herons' },
        { cookie: here },
      );
    expect((await change('not this one')).statusCode).toBe(422);
    const changed = await change(password);
    expect(changed.statusCode).toBe(303);
    const now = cookieFrom(changed, 'perkwire_session') ?? '';
    const open = async (cookie: string) =>
      (await t.app.inject({ url: '/dashboard/account', headers: { cookie } })).statusCode;
    expect([await open(now), await open(here), await open(there)]).toEqual([200, 303, 303]);
    expect((await signIn('kim@example.com')).statusCode).toBe(401);
    expect((await signIn('kim@example.com', 'nine loud herons')).statusCode).toBe(303);
  });
});

describe('a one-time link', () => {
  const start = (token: string, fields: Record<string, string>) => postForm(t, `${linkPath}${token}`, fields);
  const newPasswordFields = { password: 'four tall cranes', again: 'four tall cranes' };

  test('creates the first operator and signs in, and is not used up by opening it', async () => {
    const token = await createFirstOperatorLink(t.pool, nowMs);
    for (const _ of [1, 2]) expect((await t.app.inject(`${linkPath}${token}`)).statusCode).toBe(200);
    const answer = await start(token, { email: 'root@example.com', ...newPasswordFields });
    expect(answer.statusCode).toBe(303);
    const cookie = cookieFrom(answer, 'perkwire_session') ?? '';
    expect((await t.app.inject({ url: '/dashboard/operator/users', headers: { cookie } })).statusCode).toBe(200);
    expect((await start(token, { email: 'second@example.com', ...newPasswordFields })).statusCode).toBe(400);
    expect((await t.app.inject(`${linkPath}${token}`)).statusCode).toBe(400);
  });

  test('does not create a second operator, even if the link was issued before the first one existed', async () => {
    const token = await createFirstOperatorLink(t.pool, nowMs);
    const answer = await start(token, { email: 'second@example.com', ...newPasswordFields });
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain('This link has already been used.');
    const { rowCount } = await t.pool.query("select 1 from users where email = 'second@example.com'");
    expect(rowCount).toBe(0);
  });

  test('works once when it is used twice concurrently', async () => {
    await t.pool.query("update users set disabled = true where role = 'operator'");
    const token = await createFirstOperatorLink(t.pool, nowMs);
    const answers = await Promise.all(
      ['x1@example.com', 'x2@example.com'].map((email) => start(token, { email, ...newPasswordFields })),
    );
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([303, 400]);
  });

  test("sets an invited user's password, is replaced by a newer link, and expires", async () => {
    const user = await createUser(t.pool, {
      email: 'lea@example.com',
      role: 'manager',
      publisherId: t.publisher.id,
      passwordHash: null,
      nowMs,
    });
    if (user === null) throw new Error('the address is taken');
    const old = await createInvitation(t.pool, user, nowMs);
    const token = await createInvitation(t.pool, user, nowMs);
    expect((await start(old, newPasswordFields)).statusCode).toBe(400);
    expect((await start(token, { ...newPasswordFields, password: 'short', again: 'short' })).statusCode).toBe(422);
    expect((await start(token, { ...newPasswordFields, email: 'other@example.com' })).statusCode).toBe(303);
    expect((await signIn('lea@example.com', newPasswordFields.password)).statusCode).toBe(303);
    const late = await createInvitation(t.pool, user, nowMs);
    nowMs += 8 * 86_400_000;
    expect((await t.app.inject(`${linkPath}${late}`)).statusCode).toBe(400);
  });

  test('ends all sessions of its user', async () => {
    const person = await signInAs(t, 'analyst');
    const token = await createPasswordReset(t.pool, person.userId, nowMs);
    expect((await person.get('/dashboard/account')).statusCode).toBe(200);
    expect((await start(token, newPasswordFields)).statusCode).toBe(303);
    expect((await person.get('/dashboard/account')).statusCode).toBe(303);
  });

  test('stays valid after an address that is already in use is entered', async () => {
    await t.pool.query("update users set disabled = true where role = 'operator'");
    const token = await createFirstOperatorLink(t.pool, nowMs);
    expect((await start(token, { email: 'ada@example.com', ...newPasswordFields })).statusCode).toBe(422);
    expect((await start(token, { email: 'fresh@example.com', ...newPasswordFields })).statusCode).toBe(303);
  });

  test('gives the same response for a guessed token as for an expired one', async () => {
    for (const token of ['a', 'A'.repeat(43), '%00', 'x'.repeat(90)])
      expect((await t.app.inject(`${linkPath}${token}`)).statusCode, token).toBe(400);
  });
});

test('cookies are Secure and bound to the host when HTTPS is used', async () => {
  const secure = await createTestApp({
    databaseUrl: t.databaseUrl,
    config: { publicUrl: 'https://perks.test' },
    now: () => nowMs,
  });
  const answer = await secure.app.inject({
    method: 'POST',
    url: '/dashboard/sign-in',
    headers: { origin: 'https://perks.test', 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ email: 'ada@example.com', password }).toString(),
  });
  expect(answer.cookies).toEqual([
    {
      name: '__Host-perkwire_session',
      value: expect.stringMatching(/^[\w-]{43}$/),
      path: '/',
      maxAge: 604_800,
      httpOnly: true,
      sameSite: 'Lax',
      secure: true,
    },
  ]);
  await secure.close();
});
