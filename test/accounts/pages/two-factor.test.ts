import jsQR from 'jsqr';
import { Secret, TOTP, URI } from 'otpauth';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashPassword } from '../../../src/accounts/passwords.ts';
import { createPasswordReset, linkPath } from '../../../src/accounts/sign-in/one-time-links.ts';
import { createUser } from '../../../src/accounts/users.ts';
import type { Role } from '../../../src/shell/context.ts';
import { cookieFrom, csrfIn, postForm, signInAs } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

const password = 'seven quiet otters';
const page = '/dashboard/account/two-factor';

let nowMs = Date.now();
let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs, config: { requireTwoFactor: 'operators', trustProxy: true } });
});
afterAll(() => t?.close());

/** Advances the clock to the next code period, because each code is accepted only once. */
const nextPeriod = (): void => {
  nowMs += 60_000;
};
const codeOf = (secret: string): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: nowMs });
/** Returns a code that is invalid in all periods around the current time. */
function wrongCode(secret: string): string {
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  const valid = [-1, 0, 1].map((periods) => totp.generate({ timestamp: nowMs + periods * 30_000 }));
  return ['000000', '111111', '222222', '333333'].find((code) => !valid.includes(code)) ?? '';
}

async function account(email: string, role: Role = 'manager'): Promise<number> {
  const passwordHash = await hashPassword(password, { cost: { logN: 4, r: 8, p: 1 } });
  const publisherId = role === 'operator' ? null : t.publisher.id;
  return (await createUser(t.pool, { email, role, publisherId, passwordHash, nowMs }))?.id ?? 0;
}

const get = (path: string, cookie: string) => t.app.inject({ url: path, headers: { cookie } });

/**
 * Submits the password.
 * @returns the cookie, and the URL that the browser is redirected to
 */
async function submitPassword(email: string, next = ''): Promise<{ cookie: string; to: string }> {
  const answer = await postForm(t, '/dashboard/sign-in', { email, password, next });
  return { cookie: cookieFrom(answer, 'perkwire_session') ?? '', to: String(answer.headers.location) };
}

const submitCode = (cookie: string, code: string, more: Record<string, string> = {}, address = '203.0.113.9') =>
  postForm(t, '/dashboard/sign-in/code', { code, ...more }, { cookie, 'x-forwarded-for': address });

const inside = (body: string, label: string): string =>
  new RegExp(`aria-label="${label}"><code>([^<]+)<`).exec(body)?.[1] ?? '';

type Account = { email: string; userId: number; cookie: string; secret: string; codes: string[] };

/** Creates an account with a second factor that has previously signed in with only the password. */
async function withTwoFactor(email: string, role: Role = 'manager'): Promise<Account> {
  const userId = await account(email, role);
  const { cookie } = await submitPassword(email);
  const { body } = await get(page, cookie);
  const secret = inside(body, 'key for the authenticator app').replaceAll(' ', '');
  const fields = { _csrf: csrfIn(body), setup: /name="setup" value="([^"]+)"/.exec(body)?.[1] ?? '' };
  const on = await postForm(t, page, { ...fields, current: password, code: codeOf(secret) }, { cookie });
  expect(on.statusCode, on.body).toBe(200);
  nextPeriod();
  return { email, userId, cookie, secret, codes: inside(on.body, 'recovery codes').split('\n') };
}

test('shows the key as a QR code and stores the secret sealed', async () => {
  await account('qr@example.com');
  const { cookie } = await submitPassword('qr@example.com');
  const { body } = await get(page, cookie);
  const svg = /<svg viewBox="0 0 \d+ \d+" xmlns.*?<\/svg>/s.exec(body)?.[0] ?? '';
  const image = sharp(Buffer.from(svg), { density: 400 }).flatten({ background: 'white' }).ensureAlpha().raw();
  const { data, info } = await image.toBuffer({ resolveWithObject: true });
  const uri = URI.parse(jsQR.default(new Uint8ClampedArray(data), info.width, info.height)?.data ?? '') as TOTP;
  expect(uri.secret.base32).toBe(inside(body, 'key for the authenticator app').replaceAll(' ', ''));
  expect([uri.issuer, uri.label, uri.period, uri.digits]).toEqual(['Perkwire', 'qr@example.com', 30, 6]);

  const { secret, userId } = await withTwoFactor('sealed@example.com');
  const { rows } = await t.pool.query('select totp_sealed from users where id = $1', [userId]);
  expect(rows[0].totp_sealed.includes(secret)).toBe(false);
});

test('requires the password and a valid code to turn it on', async () => {
  await account('setup@example.com');
  const { cookie } = await submitPassword('setup@example.com');
  const other = (await submitPassword('setup@example.com')).cookie;
  const { body } = await get(page, cookie);
  const secret = inside(body, 'key for the authenticator app').replaceAll(' ', '');
  const form = { _csrf: csrfIn(body), setup: /name="setup" value="([^"]+)"/.exec(body)?.[1] ?? '' };
  const submit = (fields: Record<string, string>) => postForm(t, page, { ...form, ...fields }, { cookie });
  expect((await submit({ current: 'wrong password', code: codeOf(secret) })).statusCode).toBe(422);
  expect((await submit({ current: password, code: wrongCode(secret) })).statusCode).toBe(422);
  expect((await submit({ current: password, code: codeOf(secret), setup: 'altered' })).statusCode).toBe(422);
  const again = await submit({ current: password, code: '' });
  expect(inside(again.body, 'key for the authenticator app').replaceAll(' ', '')).toBe(secret);
  expect((await get('/dashboard/account', other)).statusCode).toBe(200);
  expect((await submit({ current: password, code: codeOf(secret) })).statusCode).toBe(200);
  expect((await get('/dashboard/account', other)).statusCode).toBe(303);
});

test('gives no access after the password until the code is entered, which starts a new session', async () => {
  const { email, secret } = await withTwoFactor('steps@example.com');
  const { cookie, to } = await submitPassword(email, '/dashboard/account?x=1');
  expect(to).toBe('/dashboard/sign-in/code?next=%2Fdashboard%2Faccount%3Fx%3D1');
  expect((await get('/dashboard/account', cookie)).headers.location).toMatch(/^\/dashboard\/sign-in/);
  expect((await get(to, cookie)).statusCode).toBe(200);
  expect((await submitCode(cookie, wrongCode(secret))).statusCode).toBe(401);
  const elsewhere = await submitCode(cookie, codeOf(secret), { next: '//evil.example' });
  expect(elsewhere.headers.location).toBe('/dashboard');
  const session = cookieFrom(elsewhere, 'perkwire_session') ?? '';
  expect(session).not.toBe(cookie);
  expect((await get('/dashboard/account', session)).statusCode).toBe(200);
  expect((await submitCode(cookie, codeOf(secret))).headers.location).toBe('/dashboard/sign-in');
});

test('accepts a code once, even from two browsers concurrently, until it expires', async () => {
  const { email, secret } = await withTwoFactor('replay@example.com');
  const browsers = await Promise.all([1, 2].map(() => submitPassword(email)));
  const code = codeOf(secret);
  const both = await Promise.all(browsers.map(({ cookie }) => submitCode(cookie, code)));
  expect(both.map(({ statusCode }) => statusCode).sort()).toEqual([303, 401]);
  nextPeriod();
  const old = codeOf(secret);
  nextPeriod();
  nextPeriod();
  const { cookie } = await submitPassword(email);
  expect((await submitCode(cookie, old)).statusCode).toBe(401);
  nowMs += 11 * 60_000;
  expect((await submitCode(cookie, codeOf(secret))).headers.location).toBe('/dashboard/sign-in');
});

test('accepts each of ten recovery codes once, in any notation, and stores them as hashes', async () => {
  const { email, codes, userId } = await withTwoFactor('recovery@example.com');
  expect(new Set(codes).size).toBe(10);
  const [first = '', second = ''] = codes;
  const typed = first.toLowerCase().replaceAll('-', '');
  const { cookie } = await submitPassword(email);
  expect((await submitCode(cookie, typed)).statusCode).toBe(303);
  const again = await submitPassword(email);
  expect((await submitCode(again.cookie, first)).statusCode).toBe(401);
  expect((await submitCode(again.cookie, second)).statusCode).toBe(303);
  const { rows } = await t.pool.query('select code_hash from user_recovery_codes where user_id = $1', [userId]);
  expect(rows).toHaveLength(8);
  const { rows: log } = await t.pool.query(
    "select changes->'by' as by from audit_log where resource_id = $1 and action = 'sign_in' order by id desc limit 1",
    [email],
  );
  expect(log).toEqual([{ by: { old: null, new: 'recovery code' } }]);
});

test('429: rejects the sixth code in 15 minutes from one address, and any after ten from many addresses', async () => {
  const { email, secret } = await withTwoFactor('guess@example.com');
  const { cookie } = await submitPassword(email);
  for (let count = 0; count < 5; count += 1) expect((await submitCode(cookie, wrongCode(secret))).statusCode).toBe(401);
  expect((await submitCode(cookie, codeOf(secret))).statusCode).toBe(429);
  for (let count = 0; count < 4; count += 1)
    expect((await submitCode(cookie, wrongCode(secret), {}, `198.51.100.${count}`)).statusCode).toBe(401);
  expect((await submitCode(cookie, codeOf(secret), {}, '198.51.100.77')).statusCode).toBe(429);
});

test('still requires the code after a one-time link has set the password', async () => {
  const { email, secret, userId } = await withTwoFactor('forgot@example.com');
  const token = await createPasswordReset(t.pool, userId, nowMs);
  const fresh = 'four tall cranes';
  const answer = await postForm(t, `${linkPath}${token}`, { password: fresh, again: fresh });
  expect(answer.headers.location).toBe('/dashboard/sign-in/code');
  const cookie = cookieFrom(answer, 'perkwire_session') ?? '';
  expect((await get('/dashboard/account', cookie)).statusCode).toBe(303);
  expect((await submitCode(cookie, codeOf(secret))).statusCode, email).toBe(303);
});

test('opens only the setup page until mandatory setup is complete, and cannot be turned off afterwards', async () => {
  const operator = await signInAs(t, 'operator');
  for (const path of ['/dashboard', '/dashboard/operator/users', `/dashboard/p/${t.publisher.id}/overview`])
    expect((await operator.get(path)).headers.location, path).toBe(page);
  expect((await operator.post('/dashboard/operator/users', { email: 'x@example.com' })).headers.location).toBe(page);
  expect((await operator.get(page)).body).toContain('Your organisation requires');
  expect((await (await signInAs(t, 'admin')).get('/dashboard/account')).statusCode).toBe(200);

  const { cookie, secret } = await withTwoFactor('op@example.com', 'operator');
  expect((await get('/dashboard/operator/users', cookie)).statusCode).toBe(200);
  const csrf = csrfIn((await get(page, cookie)).body);
  await postForm(t, `${page}/off`, { _csrf: csrf, current: password, code: codeOf(secret) }, { cookie });
  expect((await submitPassword('op@example.com')).to).toContain('/dashboard/sign-in/code');
});

test('requires password and code to turn off or to replace recovery codes, and an admin can remove it', async () => {
  const { cookie, secret, codes, email, userId } = await withTwoFactor('off@example.com');
  const csrf = csrfIn((await get(page, cookie)).body);
  const submit = (path: string, current: string, code: string) =>
    postForm(t, `${page}/${path}`, { _csrf: csrf, current, code }, { cookie });
  expect((await submit('codes', password, wrongCode(secret))).statusCode).toBe(422);
  expect((await submit('off', 'wrong password', codeOf(secret))).statusCode).toBe(422);
  const renewed = await submit('codes', password, codeOf(secret));
  const fresh = inside(renewed.body, 'recovery codes').split('\n');
  expect(fresh).toHaveLength(10);
  expect((await submit('off', password, codes[0] ?? '')).statusCode).toBe(422);
  expect((await submit('off', password, fresh[0] ?? '')).headers.location).toBe('/dashboard/account');
  expect((await submitPassword(email)).to).toBe('/dashboard');

  const lost = await withTwoFactor('lost@example.com');
  const remove = (id: number) => `/dashboard/p/${t.publisher.id}/settings/users/${id}/two-factor/remove`;
  const admin = await signInAs(t, 'admin');
  expect((await admin.post(remove(lost.userId))).statusCode).toBe(303);
  expect((await get('/dashboard/account', lost.cookie)).statusCode).toBe(303);
  expect((await submitPassword('lost@example.com')).to).toBe('/dashboard');
  const { rows } = await t.pool.query(
    `select changes->'two_factor'->>'new' as is from audit_log
    where resource_id = any($1) and changes ? 'two_factor' order by id`,
    [[email, 'lost@example.com']],
  );
  expect(rows.map(({ is }) => is)).toEqual(['on', 'new recovery codes', 'off', 'on', 'removed']);
  expect(userId).toBeGreaterThan(0);
});
